import type { DescEnum, DescField, DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { parseEnumValue } from "../base/input/message-init.js";
import { encodeCsv } from "../data/csv/index.js";
import { isJsonObject } from "../wire/json/json-values.js";
import { messageToJson } from "../wire/json/message-json.js";
import { enumName } from "../wire/json/protobuf-json.js";
import { checkColumnNames, unknownColumns } from "./columns.js";
import { list, type OptionValues } from "./declarations.js";
import { type CommandContext, json, printable, writeJsonArray, writeOut } from "./output.js";
import { type OutputFormat, outputFormat, outputOptions } from "./output-format.js";
import { createProgress } from "./progress.js";
import { amountOptions, columnsOption } from "./shared-options.js";
import { LISTED, printTable, printWhole } from "./table.js";

/** The options that choose how a listing is printed. */
export const listingOptions = { ...outputOptions, ...amountOptions, columns: columnsOption };

/** How to see the columns and digits that a table of such a listing omits. */
export const WIDE_ADVICE = "Use --wide or --json to print all.";

/** The values of {@link listingOptions}. */
export type ListingOptions = OptionValues<typeof listingOptions> & { readonly wide?: boolean | undefined };

/** The type of the records of a listing, and how they are shown as a table. */
export interface ListingType<M extends DescMessage> {
  readonly desc: M;
  /** The member of the JSON object that contains the list. */
  readonly name: string;
  readonly header: readonly string[];
  /** The columns by importance, for tables that do not fit; by default from left to right. */
  readonly ranked?: readonly string[];
  /** How to see what does not fit. */
  readonly advice?: string;
  /** The decimal numbers of a record, which JSON has next to the record as the node sent it. */
  decimals?(node: MessageShape<M>): JsonObject | undefined;
  readonly decimalNames?: readonly string[];
  cells(node: MessageShape<M>): readonly string[];
  /** Returns the chosen columns of a record. Without a choice, JSON and CSV have the record as the node sent it. */
  chosen?(node: MessageShape<M>): JsonObject;
}

/**
 * Limits a listing to chosen columns: the fields of its records by their paths, as in CSV, the decimal numbers, and, in a table,
 * also the columns of the table. If a field has the name of one of these, such as `price`, a table shows the column of the table.
 *
 * @throws {@link RequestError} if a column does not exist or is named twice
 */
export function withColumns<M extends DescMessage>(
  type: ListingType<M>,
  names: readonly string[] | undefined,
  format: OutputFormat,
): ListingType<M> {
  if (names === undefined) {
    return type;
  }
  checkColumnNames(names);
  const header = format === "table" ? type.header : [];
  const decimals = (type.decimalNames ?? []).map((name) => `decimals.${name}`);
  const columns = [...header, ...leaves(type.desc).map(pathText), ...decimals];
  const unknown = names.filter((name) => !columns.includes(name));
  if (unknown.length > 0) {
    const valid = [...header, ...decimals, "and the columns of --output csv"].join(", ");
    throw unknownColumns(unknown, columns, `of ${type.name} as ${format}`, valid);
  }
  const fieldsOf = (node: MessageShape<M>) => {
    const record = recordJson(type, node);
    return names.map((name) => [name, memberAt(record, name.split(".")) ?? null] as const);
  };
  return {
    ...type,
    header: names,
    ranked: names,
    cells(node) {
      const cells = type.cells(node);
      return fieldsOf(node).map(([name, field]) => cells[header.indexOf(name)] ?? textOf(field) ?? "");
    },
    chosen: (node) => Object.fromEntries(fieldsOf(node)),
  };
}

export function maxRecords(options: ListingOptions, { out }: Pick<CommandContext, "out">): number | undefined {
  return options.limit ?? (isShort(options, out) ? LISTED + 1 : undefined);
}

/** Returns whether only the first records are listed, which is the default on a terminal. */
function isShort(options: ListingOptions, out: CommandContext["out"]): boolean {
  return out.isTTY === true && outputFormat(options, { out }) === "table" && options.all !== true;
}

/**
 * Prints records as they arrive; a table when all have arrived.
 */
export async function printListing<M extends DescMessage>(
  nodes: AsyncIterable<MessageShape<M>>,
  wholeType: ListingType<M>,
  options: ListingOptions,
  context: CommandContext,
): Promise<void> {
  const format = outputFormat(options, context);
  const type = withColumns(wholeType, options.columns, format);
  const max = options.limit ?? Number.POSITIVE_INFINITY;
  if (format === "table") {
    await printRecords(upTo(maxRecords(options, context) ?? max, nodes), type, options, context);
    return;
  }
  if (format === "json") {
    await writeJsonArray(
      context,
      mapped(upTo(max, nodes), (node) => recordJson(type, node)),
      type.name,
    );
    return;
  }
  for await (const text of formatRecords(upTo(max, nodes), type, format)) {
    await writeOut(context, text);
  }
}

async function* mapped<T, R>(items: AsyncIterable<T>, map: (item: T) => R): AsyncGenerator<R> {
  for await (const item of items) {
    yield map(item);
  }
}

async function* upTo<T>(max: number, nodes: AsyncIterable<T>): AsyncGenerator<T> {
  let left = max;
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
  { name, header, ranked, advice, cells }: ListingType<M>,
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
  if (rows.length === 0) {
    notes.write(`No ${wordsOf(name)} match.\n`);
    return;
  }
  const shown = options.limit === undefined && isShort(options, out) ? rows.slice(0, LISTED) : rows;
  if (options.wide === true) {
    printWhole(header, shown, context);
  } else {
    printTable(header, shown, context, { ranked, prefers: "values", advice });
  }
  if (shown.length < rows.length) {
    notes.write(`Showing the first ${LISTED}. Use --all to list all records, or --limit to change the number.\n`);
  }
}

/** Returns the words of a name, as `stop orders` for `stopOrders`. */
export function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Converts a record to JSON, with its decimal numbers. */
export function recordJson<M extends DescMessage>(
  { desc, decimals, chosen }: Pick<ListingType<M>, "desc" | "decimals" | "chosen">,
  node: MessageShape<M>,
): JsonValue {
  if (chosen !== undefined) {
    return chosen(node);
  }
  const object = messageToJson(desc, node);
  const numbers = decimals?.(node);
  return numbers !== undefined && isJsonObject(object) ? { ...object, decimals: numbers } : object;
}

async function* formatRecords<M extends DescMessage>(
  nodes: AsyncIterable<MessageShape<M>>,
  type: ListingType<M>,
  format: "csv" | "jsonl",
): AsyncGenerator<string | Uint8Array> {
  const { desc, header, chosen } = type;
  if (format === "csv") {
    const columns = leaves(desc);
    yield* chosen === undefined
      ? encodeCsv(columns.map(pathText), rowsOf(nodes, desc, columns))
      : encodeCsv(header, chosenRows(nodes, chosen));
    return;
  }
  for await (const node of nodes) {
    yield json(recordJson(type, node));
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

async function* chosenRows<T>(
  nodes: AsyncIterable<T>,
  chosen: (node: T) => JsonObject,
): AsyncGenerator<(string | null)[]> {
  for await (const node of nodes) {
    yield Object.values(chosen(node)).map(textOf);
  }
}

/** Returns the fields of a message, and of the messages in it, that are not messages. */
function leaves(desc: DescMessage): DescField[][] {
  return desc.fields.flatMap((field) =>
    field.fieldKind === "message" ? leaves(field.message).map((path) => [field, ...path]) : [[field]],
  );
}

function pathText(path: readonly DescField[]): string {
  return path.map(({ jsonName }) => jsonName).join(".");
}

function textAt(json: JsonValue, path: readonly DescField[]): string | null {
  return textOf(
    memberAt(
      json,
      path.map(({ jsonName }) => jsonName),
    ),
  );
}

/** Returns the value at a path; undefined if it is not set. */
function memberAt(json: JsonValue, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((inner, name) => (isJsonObject(inner) ? inner[name] : undefined), json);
}

/** Returns a value as text, a list as JSON; null if it is not set. */
function textOf(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null) {
    return null;
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Removes the prefix that all values of an enum share from the name of a value. */
function shortName({ sharedPrefix = "" }: DescEnum, name: string): string {
  const prefix = sharedPrefix.toUpperCase();
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

export function valueName(desc: DescEnum, value: number): string {
  return shortName(desc, enumName(desc, value));
}

export function enumOption(placeholder: string, desc: DescEnum) {
  const names = desc.values.map(({ localName }) => localName);
  return list(
    placeholder,
    `only records with this value: ${names.join(", ")}`,
    (name, option) => parseEnumValue(desc, name.toUpperCase(), option),
    { completions: () => ({ values: desc.values.slice(1).map(({ localName }) => localName.toLowerCase()) }) },
  );
}

export function shortId(text: string, wide: boolean): string {
  return wide || text.length <= 12 ? text : `${text.slice(0, 8)}…`;
}
