import { once } from "node:events";
import type { DescEnum, DescField, DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { Option } from "commander";
import { encodeCsv } from "../csv/index.js";
import { messageToJson } from "../json/message.js";
import { isJsonObject } from "../json/values.js";
import { type CommandContext, json, printable, table } from "./output.js";

/** The options that say how a listing is printed. */
export interface ListingOptions {
  readonly json?: boolean;
  readonly format?: "jsonl" | "csv";
}

/** The command-line options that say how a listing is printed. */
export function listingOptions(): Option[] {
  return [
    new Option("--json", "print one JSON object").conflicts("format"),
    new Option("--format <format>", "print records as they come: a JSON object a line, or CSV").choices([
      "jsonl",
      "csv",
    ]),
  ];
}

/** What is listed, and how it looks as a table. */
export interface Listed<M extends DescMessage> {
  readonly desc: M;
  /** The member of the JSON object that holds the list. */
  readonly name: string;
  readonly header: readonly string[];
  cells(node: MessageShape<M>): readonly string[];
}

/** Print what is listed: as a table or one JSON object when all of it has come, as lines of JSON or CSV while it comes. */
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

/** The paths to all fields of a message that are no messages themselves. */
export function leaves(desc: DescMessage): DescField[][] {
  return desc.fields.flatMap((field) =>
    field.fieldKind === "message" ? leaves(field.message).map((path) => [field, ...path]) : [[field]],
  );
}

/** A path as text, of the names that JSON has. */
export function pathText(path: readonly DescField[]): string {
  return path.map(({ jsonName }) => jsonName).join(".");
}

/** The value at a path as text; null where it is not set. */
export function textAt(json: JsonValue, path: readonly DescField[]): string | null {
  const value = path.reduce<JsonValue | undefined>(
    (inner, { jsonName }) => (isJsonObject(inner) ? inner[jsonName] : undefined),
    json,
  );
  return value === undefined ? null : String(value);
}

/** The name of an enum value without the prefix that all of them share. */
export function shortName({ sharedPrefix = "" }: DescEnum, name: string): string {
  const prefix = sharedPrefix.toUpperCase();
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}
