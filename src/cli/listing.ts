import { once } from "node:events";
import type { DescEnum, DescField, DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { Option } from "commander";
import { encodeCsv } from "../csv/encode.js";
import { messageToJson } from "../json/message.js";
import { isJsonObject } from "../json/values.js";
import { type CommandContext, json, printable } from "./output.js";
import { createProgress } from "./progress.js";
import { LISTED, printTable } from "./terminal.js";
import { countFromOne } from "./whole-number.js";

/** The values of {@link listingOptions}. */
export interface ListingOptions {
  readonly json?: boolean;
  readonly format?: "jsonl" | "csv";
  readonly limit?: number;
  readonly all?: boolean;
}

/**
 * Create the command-line options that choose how a listing is printed.
 *
 * @returns the options
 */
export function listingOptions(): Option[] {
  return [
    new Option("--json", "print one JSON object").conflicts("format"),
    new Option("--format <format>", "print records as they come: a JSON object a line, or CSV").choices([
      "jsonl",
      "csv",
    ]),
    new Option("--limit <count>", `list so many; on a terminal ${LISTED} by default, elsewhere all`)
      .argParser(countFromOne)
      .conflicts("all"),
    new Option("--all", "list all, also on a terminal"),
  ];
}

/** The records of a listing, and how they are shown as a table. */
export interface Listed<M extends DescMessage> {
  readonly desc: M;
  /** The member of the JSON object that holds the list. */
  readonly name: string;
  readonly header: readonly string[];
  /** The columns that are kept longest where not all fit, the most important first; by default from left to right. */
  readonly ranked?: readonly string[];
  /** How to see all that does not fit. */
  readonly advice?: string;
  cells(node: MessageShape<M>): readonly string[];
}

/**
 * The most records to ask for.
 *
 * @param options the values of the options
 * @param out where they are listed
 * @returns the number, one more than a terminal lists, so that it can be told that there are more; undefined for all
 */
export function mostRecords(options: ListingOptions, { out }: Pick<CommandContext, "out">): number | undefined {
  return options.limit ?? (isShort(options, out) ? LISTED + 1 : undefined);
}

/** Whether only the first records are listed: on a terminal, where nothing else is asked for. */
function isShort({ json: asJson, format, all }: ListingOptions, out: CommandContext["out"]): boolean {
  return out.isTTY === true && asJson !== true && format === undefined && all !== true;
}

/**
 * Print records. A table or a single JSON object is printed once all records have arrived; lines of JSON or CSV are
 * printed as the records arrive.
 *
 * @param nodes the records
 * @param listed their message type, and how they are shown as a table
 * @param options the chosen format
 * @param context the streams, and the signal that ends the printing
 */
export async function printListing<M extends DescMessage>(
  nodes: AsyncIterable<MessageShape<M>>,
  listed: Listed<M>,
  options: ListingOptions,
  context: CommandContext,
): Promise<void> {
  const { out, signal } = context;
  const most = options.limit ?? Number.POSITIVE_INFINITY;
  if (options.format === undefined && options.json !== true) {
    await printRecords(upTo(mostRecords(options, context) ?? most, nodes), listed, options, context);
    return;
  }
  for await (const text of pieces(upTo(most, nodes), listed, options)) {
    if (!out.write(text)) {
      await once(out, "drain", { signal });
    }
  }
}

/** The first records. */
async function* upTo<T>(most: number, nodes: AsyncIterable<T>): AsyncGenerator<T> {
  let left = most;
  for await (const node of nodes) {
    yield node;
    left -= 1;
    if (left <= 0) {
      return;
    }
  }
}

async function printRecords<M extends DescMessage>(
  nodes: AsyncIterable<MessageShape<M>>,
  { header, ranked, advice, cells }: Listed<M>,
  options: ListingOptions,
  context: CommandContext,
): Promise<void> {
  const { out, notes } = context;
  const progress = createProgress(context);
  const rows: string[][] = [];
  try {
    for await (const node of nodes) {
      rows.push(cells(node).map(printable));
    }
  } finally {
    progress.end();
  }
  const shown = options.limit === undefined && isShort(options, out) ? rows.slice(0, LISTED) : rows;
  printTable(header, shown, context, { ranked, advice });
  if (shown.length < rows.length) {
    notes.write(`The first ${LISTED} are listed; --all lists all, --limit another number.\n`);
  }
}

async function* pieces<M extends DescMessage>(
  nodes: AsyncIterable<MessageShape<M>>,
  { desc, name }: Listed<M>,
  options: ListingOptions,
): AsyncGenerator<string | Uint8Array> {
  if (options.format === "csv") {
    const columns = leaves(desc);
    yield* encodeCsv(columns.map(pathText), rowsOf(nodes, desc, columns));
  } else if (options.format === "jsonl") {
    for await (const node of nodes) {
      yield json(messageToJson(desc, node));
    }
  } else {
    const list: JsonValue[] = [];
    for await (const node of nodes) {
      list.push(messageToJson(desc, node));
    }
    yield json({ [name]: list });
  }
}

async function* rowsOf<M extends DescMessage>(
  nodes: AsyncIterable<MessageShape<M>>,
  desc: M,
  columns: readonly (readonly DescField[])[],
): AsyncGenerator<(string | null)[]> {
  for await (const node of nodes) {
    const object = messageToJson(desc, node);
    yield columns.map((path) => textAt(object, path));
  }
}

/**
 * Find the fields of a message that are not messages themselves.
 *
 * @param desc the message type, which must not contain itself
 * @returns the path to each field, in the order of the definition
 */
export function leaves(desc: DescMessage): DescField[][] {
  return desc.fields.flatMap((field) =>
    field.fieldKind === "message" ? leaves(field.message).map((path) => [field, ...path]) : [[field]],
  );
}

/**
 * Write a path as text.
 *
 * @param path the fields from the outermost to the innermost
 * @returns the fields' JSON names, joined by dots
 */
export function pathText(path: readonly DescField[]): string {
  return path.map(({ jsonName }) => jsonName).join(".");
}

/**
 * Read the value at a path.
 *
 * @param json a message as Protobuf's JSON
 * @param path the fields from the outermost to the innermost
 * @returns the value as text, or null if it is not set
 */
export function textAt(json: JsonValue, path: readonly DescField[]): string | null {
  const value = path.reduce<JsonValue | undefined>(
    (inner, { jsonName }) => (isJsonObject(inner) ? inner[jsonName] : undefined),
    json,
  );
  return value === undefined ? null : String(value);
}

/**
 * Shorten the name of an enum value by the prefix that all values of the enum share.
 *
 * @param desc the enum
 * @param name the value's full name, such as `STATUS_PENDING`
 * @returns the short name, such as `PENDING`
 */
export function shortName({ sharedPrefix = "" }: DescEnum, name: string): string {
  const prefix = sharedPrefix.toUpperCase();
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}
