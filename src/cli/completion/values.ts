import type { DescMethod } from "@bufbuild/protobuf";
import { type Argument, type Command, Option } from "commander";
import { tableNames } from "../../schema/tables.js";
import { fullName } from "../usage-error.js";

/** What an option or an argument takes. */
export interface Values {
  readonly values?: readonly string[];
  /** Whether it is a file or a folder. */
  readonly files?: boolean;
}

/** What takes a file, by the name of its value. */
const FILES = new Set(["file", "files", "folder", "path"]);

/** What options and arguments take that do not say it themselves, by the command's name and theirs. */
const KNOWN: readonly (readonly [where: RegExp, values: (word: string) => Values | Promise<Values>])[] = [
  [/ --table$/, () => ({ values: tableNames })],
  [/ devnode --genesis$/, (word) => ({ values: tableNames.map((table) => `${table}=`), files: word.includes("=") })],
  [/ events --type$/, eventValues],
  [
    / stop-orders --status$/,
    () => ({ values: ["pending", "cancelled", "stopped", "triggered", "expired", "rejected"] }),
  ],
  [/ stop-orders --expiry-strategy$/, () => ({ values: ["submit", "cancels"] })],
  [/ sync.* --to$/, () => ({ values: ["duckdb:", "parquet:", "postgres://"] })],
  [/ call method$/, methodValues],
  [/ describe name$/, describedValues],
  [/ fail-next method$/, methodValues],
];

/**
 * Find what an option or an argument takes.
 *
 * @param taker the option or the argument
 * @param command its command
 * @param word what is there of the value
 * @returns the values, and whether it takes files; neither where nothing is known
 */
export async function valuesOf(taker: Option | Argument, command: Command, word: string): Promise<Values> {
  if (taker.argChoices !== undefined) {
    return { values: taker.argChoices };
  }
  const isOption = taker instanceof Option;
  const name = isOption ? (taker.long ?? "") : taker.name();
  const known = KNOWN.find(([where]) => where.test(`${fullName(command)} ${name}`));
  if (known !== undefined) {
    const [, values] = known;
    return await values(word);
  }
  const [, value = ""] = isOption ? (/[<[](\w+)/.exec(taker.flags) ?? []) : ["", name];
  return { files: FILES.has(value) };
}

async function eventValues(): Promise<Values> {
  const { eventTypes } = await import("../../live/event-types.js");
  return { values: eventTypes };
}

async function methodValues(): Promise<Values> {
  const { loadDefinitions, methodsOf, yields } = await import("../api/definitions.js");
  const methods = methodsOf(await loadDefinitions(undefined, new AbortController().signal));
  const counted = new Map<string, number>();
  for (const method of methods) {
    counted.set(method.name, (counted.get(method.name) ?? 0) + 1);
  }
  // The name alone is enough where it is the only one.
  const isEnough = (method: DescMethod) => !yields(method) && counted.get(method.name) === 1;
  return { values: methods.map((method) => (isEnough(method) ? method.name : `${method.parent.name}/${method.name}`)) };
}

async function describedValues(): Promise<Values> {
  const { loadDefinitions } = await import("../api/definitions.js");
  const { describables } = await import("../api/describe.js");
  const definitions = await loadDefinitions(undefined, new AbortController().signal);
  const names = describables(definitions).map(({ name }) => name.replace(/^.*[./]/, ""));
  return { values: [...new Set(names)].toSorted() };
}
