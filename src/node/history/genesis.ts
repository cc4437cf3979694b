import { type ErrorText, quoted } from "../../base/errors/error-text.js";
import { RequestError, TradewireError } from "../../base/errors/index.js";
import { formatValue, formatWrongType, isBytes } from "../../base/input/assert.js";
import { createCsvParser } from "../../data/csv/csv-parser.js";
import { csvLine } from "../../data/csv/encode-csv.js";
import { isTableName, type TableName, tableNames } from "../../data/schema/table-names.js";
import { type TableColumn, type TableSchema, tableSchema } from "../../data/schema/table-schema.js";
import { compareText } from "../tables/index.js";
import { fittingText, isoNanoseconds, numericText, parseJson, type Value } from "../tables/postgres-text.js";

/** A custom row, by column name. A missing column is NULL. */
type GenesisRow = Readonly<Record<string, GenesisValue>>;

/** Custom rows by table: as objects, or as CSV with a header row. They replace the generated rows of the table. */
export type Genesis = { readonly [table in TableName]?: readonly GenesisRow[] | string | Uint8Array };

/** The custom rows of a table as CSV without a header, by the index of their segment, from 0. */
export type GenesisLines = ReadonlyMap<number, Buffer>;

/** Assigns rows to segments. */
export interface SegmentLookup {
  /** Returns the segment of a time in PostgreSQL's format. */
  segmentOf(time: string): Segment;
  /** The schema versions of all segments, in any order. */
  readonly versions: readonly number[];
}

interface Segment {
  readonly index: number;
  readonly fromHeight: bigint;
  readonly toHeight: bigint;
  readonly databaseVersion: bigint;
}

/** A row with its primary key, and its number for error messages, from 1. */
interface Row {
  readonly number: number;
  readonly key: readonly (string | bigint)[];
  readonly line: string;
}

const MAX_ROW_BYTES = 64 * 1024 * 1024;

/**
 * Validates custom rows, and assigns them to segments by their `vega_time`, sorted by primary key.
 *
 * @throws {@link RequestError} if a value does not fit the schema; the error names the table, the row and the column
 */
export function readGenesis(genesis: Genesis, places: SegmentLookup): ReadonlyMap<TableName, GenesisLines> {
  return new Map(
    Object.entries(genesis).flatMap(([table, rows]) => {
      if (!isTableName(table)) {
        throw new RequestError(`unknown table ${quoted(table)} in genesis`, {
          advice: `Valid tables: ${tableNames.join(", ")}.`,
        });
      }
      return rows === undefined ? [] : [[table, tableLines(table, rows, places)] as const];
    }),
  );
}

function tableLines(
  table: TableName,
  input: readonly GenesisRow[] | string | Uint8Array,
  places: SegmentLookup,
): GenesisLines {
  const columnsByName = new Map(
    places.versions.flatMap((version) => tableSchema(table, version).columns).map((column) => [column.name, column]),
  );
  const segments = new Map<number, Row[]>();
  let number = 0;
  for (const record of typeof input === "string" || isBytes(input) ? csvRecords(table, input) : input) {
    number += 1;
    const where = { table, number };
    if (!isRecord(record)) {
      throw rowError(where, ` must be an object of values by column (got ${formatWrongType(record)})`);
    }
    const texts = parseRow(where, record, columnsByName);
    const segment = places.segmentOf(texts.get("vega_time") ?? "");
    const schema = tableSchema(table, segment.databaseVersion);
    requireColumns(where, texts, schema, segment, columnsByName);
    const rows = segments.get(segment.index) ?? [];
    rows.push(rowOf(where, texts, schema));
    segments.set(segment.index, rows);
  }
  return new Map([...segments].map(([index, rows]) => [index, sortedLines(table, rows)]));
}

/** The place of a row: its table, and its number from 1. */
interface Place {
  readonly table: TableName;
  readonly number: number;
}

function rowError({ table, number }: Place, problem: string, advice?: ErrorText): RequestError {
  return new RequestError((nameOf) => `${nameOf(`genesis.${table}`)}, row ${number}${problem}`, { advice });
}

/** Reports whether a row is an object. Callers may not use TypeScript. */
function isRecord(record: unknown): boolean {
  return typeof record === "object" && record !== null && !Array.isArray(record);
}

function* csvRecords(table: TableName, csv: string | Uint8Array): Generator<GenesisRow> {
  const name = `genesis.${table}`;
  try {
    const parser = createCsvParser({ name, nullString: "", maxRowBytes: MAX_ROW_BYTES, finalNewline: "optional" });
    const bytes = typeof csv === "string" ? Buffer.from(csv) : Buffer.from(csv.buffer, csv.byteOffset, csv.byteLength);
    for (const { columns, rows } of [...parser.push(bytes), ...parser.end()]) {
      yield* rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index] ?? null])));
    }
  } catch (cause) {
    throw cause instanceof TradewireError && !(cause instanceof RequestError)
      ? new RequestError(cause.summary, { advice: "Use CSV with a header row, in PostgreSQL's format.", cause })
      : cause;
  }
}

function parseRow(
  where: Place,
  record: GenesisRow,
  columnsByName: ReadonlyMap<string, TableColumn>,
): ReadonlyMap<string, string | null> {
  const texts = new Map<string, string | null>();
  for (const [name, value] of Object.entries(record)) {
    const column = columnsByName.get(name);
    if (column === undefined) {
      const advice = `Valid columns: ${[...columnsByName.keys()].join(", ")}.`;
      throw rowError(where, `: unknown column ${quoted(name)}`, advice);
    }
    texts.set(name, parseColumn(where, column, value));
  }
  return texts;
}

/** Requires that a segment has the columns of all values, except empty ones. */
function requireColumns(
  where: Place,
  texts: ReadonlyMap<string, string | null>,
  { columns, version }: TableSchema,
  { fromHeight, toHeight }: Segment,
  columnsByName: ReadonlyMap<string, TableColumn>,
): void {
  const names = new Set(columns.map(({ name }) => name));
  for (const [name, text] of texts) {
    if (text !== null && text !== "" && !names.has(name)) {
      throw rowError(
        where,
        `: column ${name} has a value, but blocks ${fromHeight} to ${toHeight} have schema version ${version}, without this column`,
        (nameOf) =>
          `Set ${nameOf("schemaVersions")} so that these blocks have version ${columnsByName.get(name)?.since}, or leave the column empty.`,
      );
    }
  }
}

function rowOf(where: Place, texts: ReadonlyMap<string, string | null>, { columns, key, version }: TableSchema): Row {
  for (const { name, nullable } of columns) {
    if (!nullable && (texts.get(name) ?? null) === null) {
      const advice = `Schema version ${version}, the version of the row's segment, does not allow NULL in this column.`;
      throw rowError(where, `: column ${name} must not be NULL`, advice);
    }
  }
  const fields = columns.map(({ name }) => texts.get(name) ?? null);
  const keyOf = (name: string) => {
    const text = texts.get(name) ?? "";
    return columns.find((column) => column.name === name)?.holds === "whole" ? BigInt(text) : text;
  };
  const { number } = where;
  return { number, key: key.map(keyOf), line: csvLine(fields, "", number) };
}

function parseColumn(where: Place, column: TableColumn, value: GenesisValue): string | null {
  const text = value === null || value === undefined ? null : genesisText(column, value);
  if (text === undefined) {
    throw rowError(
      where,
      `, column ${column.name}: must be ${EXPECTED_VALUES[column.holds]} (got ${formatValue(value)})`,
      `The column has the type ${column.type}${column.values === undefined ? "" : `: ${column.values.join(", ")}`}.`,
    );
  }
  return text;
}

function sortedLines(table: TableName, rows: Row[]): Buffer {
  rows.sort((a, b) => compareKeys(a.key, b.key));
  const same = rows.find((row, index) => index > 0 && compareKeys(rows[index - 1]?.key ?? [], row.key) === 0);
  if (same !== undefined) {
    const where = { table, number: same.number };
    throw rowError(where, ": another row has the same primary key", "Each row needs a unique primary key.");
  }
  return Buffer.from(rows.map(({ line }) => line).join(""));
}

function compareKeys(a: Row["key"], b: Row["key"]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index];
    const order =
      typeof part === "bigint" && typeof other === "bigint"
        ? Number(part > other) - Number(part < other)
        : compareText(String(part), String(other));
    if (order !== 0) {
      return order;
    }
  }
  return 0;
}

/** A value of a custom row: a JavaScript value that fits the column, or its text in PostgreSQL's format. */
type GenesisValue = string | number | bigint | boolean | Date | null;

/** Formats a custom value as PostgreSQL's COPY does. */
function genesisText(column: TableColumn, value: unknown): string | undefined {
  if (NON_NUMBERS[column.type]?.test(String(value)) === true) {
    return String(value);
  }
  const meant = isGenesisValue(value) ? parseValue(column, value) : undefined;
  if (meant === null) {
    return column.holds === "json" ? "null" : undefined;
  }
  return meant === undefined ? undefined : fittingText(column, meant);
}

/** The non-numbers of PostgreSQL's numeric types in COPY's format. A `numeric` with a precision has no infinity. */
const NON_NUMBERS: { readonly [type in TableColumn["type"]]?: RegExp } = {
  float8: /^(?:NaN|-?Infinity)$/,
  numeric: /^(?:NaN|-?Infinity)$/,
  "numeric(1000,16)": /^NaN$/,
};

function isGenesisValue(value: unknown): value is NonNullable<GenesisValue> {
  return ["string", "number", "bigint", "boolean"].includes(typeof value) || value instanceof Date;
}

/** The description of each kind of column in error messages. */
const EXPECTED_VALUES: { readonly [holds in TableColumn["holds"]]: string } = {
  time: "a time, such as 2023-10-19T08:00:01Z",
  id: "bytes as hex digits",
  whole: "a whole number in the range of the column",
  decimal: "a number",
  number: "a number",
  flag: "true or false",
  text: "a string without U+0000 and unpaired surrogates",
  json: "a string of JSON",
  enum: "a name of the type",
  code: "a number, or the name of one",
};

function parseValue(column: TableColumn, value: NonNullable<GenesisValue>): Value {
  switch (column.holds) {
    case "time":
      return nanoseconds(value);
    case "id":
      return typeof value === "string" ? value.replace(/^(?:\\x|0x)/, "") : undefined;
    case "whole":
      return isInteger(value) ? value : undefined;
    case "code":
      return isInteger(value) ? value : codeNumber(column, value);
    case "decimal":
    case "number":
      return value instanceof Date || typeof value === "boolean" ? undefined : value;
    case "flag":
      return value === "t" || value === "true" ? true : value === "f" || value === "false" ? false : unlessDate(value);
    case "text":
      return typeof value === "string" && !/[\0\p{Surrogate}]/u.test(value) ? value : undefined;
    case "json":
      return parsedJson(value);
    case "enum":
      return unlessDate(value);
  }
}

const unlessDate = (value: NonNullable<GenesisValue>): Value => (value instanceof Date ? undefined : value);

function isInteger(value: NonNullable<GenesisValue>): value is string | number | bigint {
  const text = typeof value === "boolean" || value instanceof Date ? "" : String(value);
  return /^-?\d+(?:\.0*)?$/.test(numericText(text) ?? "");
}

function codeNumber({ code }: TableColumn, value: NonNullable<GenesisValue>): string | undefined {
  return Object.entries(code?.names ?? {}).find(([, name]) => name === value)?.[0];
}

function parsedJson(value: NonNullable<GenesisValue>): Value {
  try {
    return typeof value === "string" ? parseJson(value) : undefined;
  } catch {
    return undefined;
  }
}

const CLOCK = /[ T]\d\d:\d\d:\d\d/;

/** Returns a time in Unix nanoseconds. */
function nanoseconds(value: NonNullable<GenesisValue>): bigint | undefined {
  if (typeof value === "bigint") {
    return value;
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? undefined : BigInt(value.getTime()) * 1_000_000n;
  }
  return typeof value === "string" && CLOCK.test(value) ? isoNanoseconds(value) : undefined;
}
