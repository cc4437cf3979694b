import { once } from "node:events";
import type { DescEnum, DescField, DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { Option } from "commander";
import { encodeCsv } from "../csv/index.js";
import { messageToJson } from "../json/message.js";
import { isJsonObject } from "../json/values.js";
import { type CommandContext, json, printable, table } from "./output.js";

/** The values of {@link listingOptions}. */
export interface ListingOptions {
  readonly json?: boolean;
  readonly format?: "jsonl" | "csv";
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
  ];
}

/** The records of a listing, and how they are shown as a table. */
export interface Listed<M extends DescMessage> {
  readonly desc: M;
  /** The member of the JSON object that holds the list. */
  readonly name: string;
  readonly header: readonly string[];
  cells(node: MessageShape<M>): readonly string[];
}

/**
 * Print records. A table or a single JSON object is printed once all records have arrived; lines of JSON or CSV are
 * printed as the records arrive.
 *
 * @param nodes the records
 * @param listed their message type, and how they are shown as a table
 * @param options the chosen format
 * @param context standard output, and the signal that ends the printing
 */
export async function printListing<M extends DescMessage>(
  nodes: AsyncIterable<MessageShape<M>>,
  listed: Listed<M>,
  options: ListingOptions,
  { out, signal }: CommandContext,
): Promise<void> {
  for await (const text of pieces(nodes, listed, options)) {
    if (!out.write(text)) {
      await once(out, "drain", { signal });
    }
  }
}

async function* pieces<M extends DescMessage>(
  nodes: AsyncIterable<MessageShape<M>>,
  { desc, name, header, cells }: Listed<M>,
  options: ListingOptions,
): AsyncGenerator<string | Uint8Array> {
  if (options.format === "csv") {
    const columns = leaves(desc);
    yield* encodeCsv(columns.map(pathText), rowsOf(nodes, desc, columns));
  } else if (options.format === "jsonl") {
    for await (const node of nodes) {
      yield json(messageToJson(desc, node));
    }
  } else if (options.json === true) {
    const list: JsonValue[] = [];
    for await (const node of nodes) {
      list.push(messageToJson(desc, node));
    }
    yield json({ [name]: list });
  } else {
    const rows: string[][] = [];
    for await (const node of nodes) {
      rows.push(cells(node).map(printable));
    }
    yield table(header, rows);
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
