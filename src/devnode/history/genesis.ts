import { csvLine } from "../../csv/encode.js";
import { createReader } from "../../csv/reader.js";
import { RequestError, TradewireError } from "../../errors/index.js";
import { quoted } from "../../errors/quoted.js";
import { type TableColumn, type TableSchema, tableSchema } from "../../schema/table-schema.js";
import { isTableName, type TableName, tableNames } from "../../schema/tables.js";
import { found } from "../given.js";
import { compareText } from "../tables/index.js";
import { EXPECTED, type GenesisValue, genesisText } from "./genesis-value.js";

/** A row of one's own, by the names of its columns. A column that is left out is NULL. */
export type GenesisRow = Readonly<Record<string, GenesisValue>>;

/** Rows of one's own, by table: as objects, or as CSV with a header row. They stand in place of the made-up rows. */
export type Genesis = { readonly [table in TableName]?: readonly GenesisRow[] | string | Uint8Array };

/** The rows of one's own of a table, as CSV without a header, by the index of their segment, from 0. */
export type GenesisLines = ReadonlyMap<number, Buffer>;

/** Where rows go. */
export interface GenesisPlaces {
  /** The segment of a time, given as PostgreSQL writes it: its index, and its version of the database schema. */
  segmentOf(time: string): { readonly index: number; readonly version: bigint };
  /** The versions of all segments, ascending or not. */
  readonly versions: readonly number[];
}

/** A row, its place in the order of the primary key, and its number for errors, from 1. */
interface Row {
  readonly number: number;
  readonly key: readonly (string | bigint)[];
  readonly line: string;
}

const MAX_ROW_BYTES = 64 * 1024 * 1024;

/**
 * Check rows of one's own, and put them into segments by their `vega_time`, in the order of the primary key.
 *
 * @param genesis the rows
 * @param places the segments
 * @returns the lines of each table that is given
 * @throws {@link RequestError} naming the table, the row and the column where a value does not fit the schema
 */
export function readGenesis(genesis: Genesis, places: GenesisPlaces): ReadonlyMap<TableName, GenesisLines> {
  return new Map(
    Object.entries(genesis).flatMap(([table, rows]) => {
      if (!isTableName(table)) {
        throw new RequestError(`genesis names the table ${quoted(table)}, which there is not`, {
          advice: `Choose from ${tableNames.join(", ")}.`,
        });
      }
      return rows === undefined ? [] : [[table, tableLines(table, rows, places)] as const];
    }),
  );
}

function tableLines(
  table: TableName,
  given: readonly GenesisRow[] | string | Uint8Array,
  places: GenesisPlaces,
): GenesisLines {
  const known = new Map(
    places.versions.flatMap((version) => tableSchema(table, version).columns).map((column) => [column.name, column]),
  );
  const segments = new Map<number, Row[]>();
  let number = 0;
  for (const record of typeof given === "string" || given instanceof Uint8Array ? csvRecords(table, given) : given) {
    number += 1;
    const where = `genesis.${table}, row ${number}`;
    if (!isRecord(record)) {
      throw new RequestError(`${where} is ${found(record)}`, { advice: "Give an object of values by column." });
    }
    const texts = checkedTexts(where, record, known);
    const { index, version } = places.segmentOf(texts.get("vega_time") ?? "");
    const row = rowOf(where, texts, number, tableSchema(table, version));
    const rows = segments.get(index) ?? [];
    rows.push(row);
    segments.set(index, rows);
  }
  return new Map([...segments].map(([index, rows]) => [index, inOrder(table, rows)]));
}

/** Whether a row is an object: its caller need not know types. */
function isRecord(record: unknown): boolean {
  return typeof record === "object" && record !== null && !Array.isArray(record);
}

function* csvRecords(table: TableName, csv: string | Uint8Array): Generator<GenesisRow> {
  const name = `genesis.${table}`;
  try {
    const reader = createReader({ name, nullString: "", maxRowBytes: MAX_ROW_BYTES, finalNewline: "optional" });
    const bytes = typeof csv === "string" ? Buffer.from(csv) : Buffer.from(csv.buffer, csv.byteOffset, csv.byteLength);
    for (const { columns, rows } of [...reader.read(bytes), ...reader.end()]) {
      yield* rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index] ?? null])));
    }
  } catch (cause) {
    throw cause instanceof TradewireError && !(cause instanceof RequestError)
      ? new RequestError(cause.summary, { advice: "Give CSV with a header row, as PostgreSQL writes it.", cause })
      : cause;
  }
}

function checkedTexts(
  where: string,
  record: GenesisRow,
  known: ReadonlyMap<string, TableColumn>,
): ReadonlyMap<string, string | null> {
  const texts = new Map<string, string | null>();
  for (const [name, value] of Object.entries(record)) {
    const column = known.get(name);
    if (column === undefined) {
      throw new RequestError(`${where}: there is no column ${quoted(name)}`, {
        advice: `The columns are ${[...known.keys()].join(", ")}.`,
      });
    }
    texts.set(name, checkedText(where, column, value));
  }
  return texts;
}

function rowOf(
  where: string,
  texts: ReadonlyMap<string, string | null>,
  number: number,
  { columns, key, version }: TableSchema,
): Row {
  for (const { name, nullable } of columns) {
    if (!nullable && (texts.get(name) ?? null) === null) {
      throw new RequestError(`${where}: column ${name} has no value`, {
        advice: `Version ${version} of the database schema, which the row's segment has, takes no NULL there.`,
      });
    }
  }
  const fields = columns.map(({ name }) => texts.get(name) ?? null);
  const keyOf = (name: string) => {
    const text = texts.get(name) ?? "";
    return columns.find((column) => column.name === name)?.holds === "whole" ? BigInt(text) : text;
  };
  return { number, key: key.map(keyOf), line: csvLine(fields, "", number) };
}

function checkedText(where: string, column: TableColumn, value: GenesisValue): string | null {
  const text = value === null || value === undefined ? null : genesisText(column, value);
  if (text === undefined) {
    throw new RequestError(`${where}, column ${column.name}: ${found(value)} is not ${EXPECTED[column.holds]}`, {
      advice: `The column is of the type ${column.type}${column.values === undefined ? "" : `: ${column.values.join(", ")}`}.`,
    });
  }
  return text;
}

function inOrder(table: TableName, rows: Row[]): Buffer {
  rows.sort((a, b) => compareKeys(a.key, b.key));
  const same = rows.find((row, index) => index > 0 && compareKeys(rows[index - 1]?.key ?? [], row.key) === 0);
  if (same !== undefined) {
    throw new RequestError(`genesis.${table}, row ${same.number}: another row has the same primary key`, {
      advice: "Give each row a key of its own.",
    });
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
