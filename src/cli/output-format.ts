import type { JsonValue } from "@bufbuild/protobuf";
import { csvLine } from "../data/csv/encode-csv.js";
import { isJsonObject, jsonReplacer } from "../wire/json/json-values.js";
import { choice, flag, type OptionSettings, type OptionValues } from "./declarations.js";
import { type CommandContext, deliver, json, type OutputContext } from "./output.js";

/** The formats in which records and results are printed. */
export const outputFormats = ["table", "json", "jsonl", "csv"] as const;

/** A format in which records and results are printed. */
export type OutputFormat = (typeof outputFormats)[number];

/** The short flag of the option `--output`, of every command that prints records or a result. */
export const OUTPUT: OptionSettings = { short: "-o" };

/** The option that makes standard output one JSON document. */
export const jsonFlag = flag("print one JSON document, also of an error");

const OUTPUT_TEXT = "format of the output (default: table on a terminal, otherwise jsonl)";

/** The options of commands that print records or a result. */
export const outputOptions = { output: choice("<format>", OUTPUT_TEXT, outputFormats, OUTPUT), json: jsonFlag };

/** The option of commands that print events as they happen: their output is never one JSON document. */
export const eventsOutput = { output: choice("<format>", OUTPUT_TEXT, ["table", "jsonl"], OUTPUT) };

/** The values of {@link outputOptions}. */
export type OutputOptions = OptionValues<typeof outputOptions>;

type ChosenFormat<Format> = { readonly output?: Format | undefined; readonly json?: boolean | undefined };

export function outputFormat<Format extends OutputFormat>(
  { output, json: isJson }: ChosenFormat<Format>,
  { out }: Pick<CommandContext, "out">,
): Format | "table" | "json" | "jsonl" {
  return isJson === true ? "json" : (output ?? (out.isTTY === true ? "table" : "jsonl"));
}

/** Returns whether each event is printed as a line of JSON. */
export function printsJsonLines(
  options: OptionValues<typeof eventsOutput>,
  context: Pick<CommandContext, "out">,
): boolean {
  return outputFormat(options, context) === "jsonl";
}

/**
 * Returns whether the arguments of a command request JSON, so that errors are also printed as JSON. It is known before the
 * arguments are parsed, because the parser can fail, too.
 */
export function isJsonRequested(args: readonly string[]): boolean {
  return args.some(
    (arg, at) =>
      ["--json", "--output=json", "-ojson"].includes(arg) ||
      (arg === "json" && ["-o", "--output"].includes(args[at - 1] ?? "")),
  );
}

/** The output of a command. */
export interface Report {
  /** Prints it for a person. */
  table(): void | Promise<void>;
  object(): object;
  /** Returns its records, each a line of JSON or of CSV; by default the object is the only one. */
  records?(): Iterable<object>;
}

export async function printReport(
  { table, object, records = () => [object()] }: Report,
  format: OutputFormat,
  context: OutputContext,
): Promise<void> {
  switch (format) {
    case "table":
      await table();
      break;
    case "json":
      await deliver(context, json(object()));
      break;
    case "jsonl":
      for (const record of records()) {
        await deliver(context, json(record));
      }
      break;
    case "csv":
      await deliver(context, csvOf(records()));
      break;
  }
}

/** Formats records as CSV. The columns are the paths of all members of all records, joined by dots. */
function csvOf(records: Iterable<object>): string {
  const rows = [...records].map((record) => {
    const value: JsonValue = JSON.parse(JSON.stringify(record, jsonReplacer));
    return new Map(membersOf(value, ""));
  });
  const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  // Records without members have no columns, and CSV has at least one.
  const header = columns.length === 0 ? ["value"] : columns;
  const lines = [header, ...rows.map((row) => columns.map((column) => row.get(column) ?? null))];
  return lines.map((line, at) => csvLine(line, "", at + 1)).join("");
}

/** Yields the members of an object, and of the objects in it, with their paths. Lists are JSON text. */
function* membersOf(value: JsonValue, path: string): Generator<[path: string, text: string | null]> {
  if (isJsonObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      yield* membersOf(inner, path === "" ? name : `${path}.${name}`);
    }
    return;
  }
  yield [path, value === null ? null : typeof value === "string" ? value : JSON.stringify(value)];
}
