import type { DescEnum, DescField, DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { closestName, quoted } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";
import type { KnownDecimals } from "../trade/market/field-units.js";
import { isJsonObject } from "../wire/json/json-values.js";
import { messageToJson } from "../wire/json/message-json.js";
import { namedColumns, unknownColumns } from "./columns.js";
import { list, type OptionValues } from "./declarations.js";
import { type CommandContext, json, printable, writeJsonArray, writeOut } from "./output.js";
import { outputFormat, outputOptions } from "./output-format.js";
import { printCsv } from "./print-rows.js";
import { createProgress } from "./progress.js";
import { readableJson } from "./records/readable.js";
import { textOf } from "./row-format.js";
import { amountOptions, columnsOption } from "./shared-options.js";
import { LISTED, printTable, printWhole } from "./table.js";

/** The options that choose how a listing is printed. */
export const listingOptions = { ...outputOptions, ...amountOptions, columns: columnsOption };

/** How to see the columns and digits that a table of such a listing omits. */
export const WIDE_ADVICE = "Use --wide or --json to print all.";

/** The values of {@link listingOptions}. */
export type ListingOptions = OptionValues<typeof listingOptions> & {
  readonly wide?: boolean | undefined;
  readonly raw?: boolean | undefined;
};

/** The type of the records of a listing, and how they are shown as a table. */
export interface ListingType<M extends DescMessage> {
  readonly desc: M;
  /** The member of the JSON object that contains the list. */
  readonly name: string;
  /** The columns of a table: members of the record, by their paths. */
  readonly header: readonly string[];
  /** The columns by importance, for tables that do not fit; by default from left to right. */
  readonly ranked?: readonly string[];
  /** How to see what does not fit. */
  readonly advice?: string;
  /** The field whose message is the record, next to the other fields; by default, the whole message is. */
  readonly root?: string;
  /** The decimals of markets and assets, which are loaded before a record is printed. */
  readonly known?: KnownDecimals;
  /** The names of {@link ListingType.extras}. */
  readonly extraNames?: readonly string[];
  /** Returns what a record has besides the fields of its message. */
  extras?(node: MessageShape<M>, isRaw: boolean): JsonObject;
}

/** How the records of a listing are printed. */
export interface PrintedType<M extends DescMessage> extends ListingType<M> {
  /** The columns of CSV, and of JSON if they were chosen. */
  readonly columns: readonly string[];
  record(node: MessageShape<M>): JsonObject;
  cells(node: MessageShape<M>): readonly string[];
}

/**
 * Prepares a listing for printing: in decimal numbers, or with `--raw` in the network's integers; with all columns or the chosen ones.
 *
 * @throws {@link RequestError} if a column does not exist or is named twice
 */
export function printedType<M extends DescMessage>(
  type: ListingType<M>,
  { columns: chosen, raw: isRaw = false, wide: isWide = false }: ListingOptions,
): PrintedType<M> {
  const { desc, root, known = NOTHING_KNOWN, extraNames = [], extras } = type;
  const all = [...leaves(desc).map((path) => columnOf(path, root)), ...extraNames];
  const names = chosen && namedColumns(chosen, all);
  if (names !== undefined) {
    const unknown = names.filter((name) => !all.includes(name));
    if (unknown.length > 0) {
      throw unknownColumns(unknown, all, `of ${wordsOf(type.name)}`);
    }
  }
  function wholeRecord(node: MessageShape<M>): JsonObject {
    const json = isRaw ? messageToJson(desc, node) : readableJson(desc, node, known);
    const { [root ?? ""]: inner, ...rest } = isJsonObject(json) ? json : {};
    return { ...(isJsonObject(inner) && inner), ...rest, ...extras?.(node, isRaw) };
  }
  const record = (node: MessageShape<M>) => {
    const whole = wholeRecord(node);
    return names === undefined
      ? whole
      : Object.fromEntries(names.map((name) => [name, memberAt(whole, name.split(".")) ?? null]));
  };
  const header = names ?? type.header;
  return {
    ...type,
    header,
    ...(names && { ranked: names }),
    columns: names ?? all,
    record,
    cells(node) {
      const whole = wholeRecord(node);
      return header.map((name) => shortId(textOf(memberAt(whole, name.split("."))) ?? "", isWide));
    },
  };
}

const NOTHING_KNOWN: KnownDecimals = { market: () => undefined, asset: () => undefined };

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
  listed: ListingType<M>,
  options: ListingOptions,
  context: CommandContext,
): Promise<void> {
  const format = outputFormat(options, context);
  const type = printedType(listed, options);
  const max = options.limit ?? Number.POSITIVE_INFINITY;
  if (format === "table") {
    await printRecords(upTo(maxRecords(options, context) ?? max, nodes), type, options, context);
    return;
  }
  if (format === "json") {
    await writeJsonArray(context, mapped(upTo(max, nodes), type.record), type.name);
    return;
  }
  if (format === "csv") {
    const paths = type.columns.map((name) => [name, name.split(".")] as const);
    const rows = mapped(upTo(max, nodes), (node) => {
      const object = type.record(node);
      return paths.map(([name, path]) => textOf(object[name] ?? memberAt(object, path)));
    });
    await printCsv(type.columns, rows, context);
    return;
  }
  for await (const node of upTo(max, nodes)) {
    await writeOut(context, json(type.record(node)));
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
  { name, header, ranked, advice, cells }: PrintedType<M>,
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

/** Returns the fields of a message, and of the messages in it, that are not messages. */
function leaves(desc: DescMessage): DescField[][] {
  return desc.fields.flatMap((field) =>
    field.fieldKind === "message" ? leaves(field.message).map((path) => [field, ...path]) : [[field]],
  );
}

function columnOf(path: readonly DescField[], root: string | undefined): string {
  const names = path.map(({ jsonName }) => jsonName);
  return (names[0] === root ? names.slice(1) : names).join(".");
}

/** Returns the value at a path; undefined if it is not set. */
function memberAt(json: JsonValue, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((inner, name) => (isJsonObject(inner) ? inner[name] : undefined), json);
}

export function enumOption(placeholder: string, desc: DescEnum) {
  const names = desc.values.map(({ localName }) => localName);
  return list(
    placeholder,
    `only records with this value: ${names.join(", ")}`,
    (text) => {
      const found = desc.values.find(({ name, localName }) => [name, localName].includes(text.toUpperCase()));
      if (found === undefined) {
        const near = closestName(text, names);
        throw new RequestError(`must be one of ${names.join(", ")} (got ${quoted(text)})`, {
          advice: near && `Did you mean ${near}?`,
        });
      }
      return found.number;
    },
    { completions: () => ({ values: desc.values.slice(1).map(({ localName }) => localName.toLowerCase()) }) },
  );
}

/** Shortens an identifier or a hash. */
export function shortId(text: string, wide: boolean): string {
  return wide || !/^[0-9a-f]{64}$/i.test(text) ? text : `${text.slice(0, 8)}…`;
}
