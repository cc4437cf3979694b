import { deepStrictEqual } from "node:assert/strict";
import { createHash } from "node:crypto";
import { RequestError } from "../../base/errors/index.js";
import type { UnknownPart } from "../../data/archive/typed-rows.js";
import type { CsvRow } from "../../data/csv/csv-format.js";
import { encodeCsv } from "../../data/csv/encode-csv.js";
import type { TableName } from "../../data/schema/table-names.js";
import { type ColumnType, type TableColumn, tableSchema } from "../../data/schema/table-schema.js";
import type { FetchUnit, Sink, SinkOpening } from "../sink.js";
import { targetOf } from "../sink-columns.js";
import type { LedgerEntry, Measures, Unit } from "../unit.js";

/** A file of a unit. */
export interface CsvFixture {
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
}

/** How a file arrives. */
export interface FetchBehavior {
  /** The file fails with `error` after this number of bytes. */
  readonly failAfter?: number;
  readonly error?: Error;
  /** The reported number of rows; by default the actual one. */
  readonly rows?: bigint;
  /** Awaited after the header was sent. */
  readonly gate?: Promise<void>;
}

/** Fetches a file, and counts how often it is fetched. */
export interface CountedFetch {
  readonly fetch: FetchUnit;
  readonly calls: () => number;
}

/** The number of rows of a generated file. */
const ROWS = 16;
/** The sizes of the chunks of a file, in turn: they split values and characters anywhere. */
const PIECES = [1, 2, 3, 5, 64, 1000, 30_000];

export function unitAt(
  table: TableName,
  first: number,
  { last = first, version = 116, fork = "" }: { last?: number; version?: number; fork?: string } = {},
): Unit {
  return {
    chainId: CHAIN,
    table,
    fromBlock: BigInt(first - 1) * 10n + 1n,
    toBlock: BigInt(last) * 10n,
    segmentId: `segment-${last}${fork}`,
    previousSegmentId: first === 1 ? "" : `segment-${first - 1}${fork}`,
    schemaVersion: BigInt(version),
  };
}

export function generateCsv(
  table: TableName,
  { version = 116, from = 0, rows = ROWS }: { version?: number; from?: number; rows?: number } = {},
): CsvFixture {
  const { columns, key } = tableSchema(table, version);
  const values = columns.map((column) => edgeValues(column));
  const row = (number: number) =>
    columns.map((column, index) => {
      const list = values[index] ?? [];
      return key.includes(column.name)
        ? keyValue(column, from + number)
        : (list[(number + index) % list.length] ?? null);
    });
  return {
    columns: columns.map(({ name }) => name),
    rows: Array.from({ length: rows }, (_, number) => row(number)),
  };
}

function rowsOf(table: TableName, { columns, rows }: CsvFixture): ReadRow[] {
  const names = columns.map((column) => targetOf(table, column)?.name ?? column);
  return rows.map((row) => Object.fromEntries(row.map((value, index) => [names[index] ?? "", value])));
}

/** Returns the columns of a table whose texts may differ because they are floating-point numbers. */
function floatsOf(table: TableName): ReadonlySet<string> {
  return new Set(tableSchema(table, 116).columns.flatMap(({ name, type }) => (type === "float8" ? [name] : [])));
}

export function fetchOf(csv: CsvFixture, arrival: FetchBehavior = {}): CountedFetch {
  let calls = 0;
  return {
    calls: () => calls,
    async fetch() {
      calls += 1;
      const bytes = await bytesOf(csv);
      let ended = false;
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const measures: Measures = {
        rows: arrival.rows ?? BigInt(csv.rows.length),
        bytes: BigInt(bytes.length),
        sha256,
      };
      async function* content(): AsyncGenerator<Uint8Array> {
        const limit = arrival.failAfter ?? bytes.length;
        let turn = 0;
        for (let from = 0; from < limit; turn += 1) {
          const to = Math.min(limit, from + (PIECES[turn % PIECES.length] ?? 1));
          yield bytes.subarray(from, to);
          from = to;
          if (from > bytes.indexOf(0x0a)) {
            await arrival.gate;
          }
        }
        if (arrival.error !== undefined) {
          throw arrival.error;
        }
        ended = true;
      }
      return {
        columns: csv.columns,
        content: content(),
        measures() {
          if (!ended) {
            throw new RequestError("the file has not ended", { advice: "Read it to its end first." });
          }
          return measures;
        },
      };
    },
  };
}

/** Writes a file as CSV. */
export async function bytesOf({ columns, rows }: CsvFixture): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of encodeCsv(columns, rows)) {
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Returns a value of a key column: a different one for each row, if the type has that many. */
function keyValue(column: TableColumn, number: number): string {
  if (column.values !== undefined || column.code !== undefined) {
    const values = edgeValues(column).filter((value) => value !== null);
    return values[number % values.length] ?? "";
  }
  switch (column.holds) {
    case "id":
      return `\\x${number.toString(16).padStart(64, "0")}`;
    case "time":
      return `2023-10-19 08:13:00.${String(number).padStart(6, "0").replace(/0+$/, "") || "5"}+00`;
    case "flag":
      return number % 2 === 0 ? "t" : "f";
    case "text":
      return `key "${number}", é`;
    default:
      return String(number);
  }
}

/** A row by column name: values as `COPY` writes them, such as `t` or `\x0a`, and `null` for NULL. */
export type ReadRow = Readonly<Record<string, string | null>>;

/** The location of a case's sink, and how to read its tables. */
export interface SinkHost {
  /** Creates a sink. Each call creates another one at the same location. */
  makeSink(): Sink;
  /**
   * Reads the rows of a table without the sink, for example with the client of the database. No sink needs to be open.
   *
   * @param table the table
   * @returns the rows in any order, values as `COPY` writes them, so that nothing is lost or rounded; `_from_block` may be
   *   left out. `null` if the table does not exist
   */
  readRows(table: TableName): Promise<readonly ReadRow[] | null>;
}

/** A requirement that every sink must meet. */
export interface SinkCase {
  readonly name: string;
  /**
   * Whether two sinks may be open on one target at the same time. If your sink does not support that, skip these cases
   * and document it.
   */
  readonly sideBySide: boolean;
  /**
   * Runs the case.
   *
   * @param host a new location
   * @throws an `AssertionError` where the promise is broken
   */
  run(host: SinkHost): Promise<void>;
}

/** The chain of all cases. */
export const CHAIN = "contract-chain";

/** An opened sink, and what it has reported. */
export interface OpenedSink {
  readonly sink: Sink;
  readonly reported: readonly UnknownPart[];
}

export function sinkCase(name: string, run: (host: SinkHost) => Promise<void>, sideBySide = false): SinkCase {
  return { name, sideBySide, run };
}

/** Opens a sink, uses it, and closes it. */
export async function withOpened(
  host: SinkHost,
  tables: readonly TableName[],
  use: (opened: OpenedSink) => Promise<void>,
  opening: Partial<SinkOpening> = {},
): Promise<void> {
  const reported: UnknownPart[] = [];
  const sink = host.makeSink();
  try {
    await sink.open({
      chainId: CHAIN,
      tables,
      onUnknown: (unknown) => reported.push(unknown),
      unknownColumns: "add",
      signal: new AbortController().signal,
      ...opening,
    });
    await use({ sink, reported });
  } finally {
    await sink[Symbol.asyncDispose]();
  }
}

export async function ledgerEntries(sink: Sink, table: TableName, behind?: bigint): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for await (const entry of sink.entries(table, behind)) {
    entries.push(entry);
  }
  return entries;
}

/** The options of a load that is never canceled. */
export function loadOptions(replace = false): { readonly replace: boolean; readonly signal: AbortSignal } {
  return { replace, signal: new AbortController().signal };
}

/** Throws unless a table has the rows of files, in any order. */
export async function expectRows(host: SinkHost, table: TableName, files: readonly CsvFixture[]): Promise<void> {
  const found = (await host.readRows(table)) ?? [];
  const expected = files.flatMap((file) => rowsOf(table, file));
  const floats = floatsOf(table);
  const comparable = (row: ReadRow) =>
    JSON.stringify(
      Object.entries(row)
        .filter(([name, value]) => value !== null && name !== "_from_block")
        .map(([name, value]) => [name, floats.has(name) ? floatText(value) : value])
        .sort(([a], [b]) => ((a ?? "") < (b ?? "") ? -1 : 1)),
    );
  deepStrictEqual(found.map(comparable).sort(), expected.map(comparable).sort(), `rows of ${table}`);
}

function floatText(value: string | null): string {
  const number = Number(value);
  return Object.is(number, -0) ? "-0" : String(number);
}

const DIGITS = "1234567890".repeat(90);

/**
 * Boundary values of each type, as PostgreSQL writes them. Every sink must accept integers of up to 38 digits; it stores a
 * longer one exactly or refuses the unit.
 */
const EDGES: { readonly [type in ColumnType]?: readonly string[] } = {
  int2: ["0", "-32768", "32767"],
  int4: ["0", "-2147483648", "2147483647"],
  int8: ["0", "-9223372036854775808", "9223372036854775807", "9007199254740993"],
  hugeint: ["0", "-1", "9".repeat(38), `-${"9".repeat(38)}`, "18446744073709551616"],
  numeric: ["0", "0.1", "-123456789012345678901234567890.123456789", "1.50", `${DIGITS}.${DIGITS}`, "NaN"],
  "numeric(1000,16)": ["0.0000000000000000", "-0.1000000000000000", `${DIGITS}.1234567890123456`, "NaN"],
  float8: ["0", "-0", "0.1", "1e+300", "5e-324", "-1.7976931348623157e+308", "NaN", "Infinity", "-Infinity"],
  bool: ["t", "f"],
  text: [
    "",
    "plain",
    'He said "x", and left',
    '"',
    "two\nlines",
    "return\rand\r\nboth",
    "tab\tand  spaces ",
    " leading",
    "NULL",
    "\\N",
    "\\.",
    "back\\slash\\n",
    "'; DROP TABLE trades; --",
    "Žluťoučký 馬 🐎 e\u0301",
    "separators \u2028 and \u2029, \u00a0, \ufeff",
    "true",
    "long ".repeat(20_000),
  ],
  bytea: ["\\x", "\\x00", "\\xff00ff", `\\x${"0a0d2c22".repeat(64)}`],
  timestamptz: [
    "2023-10-19 08:13:00.123456+00",
    "1970-01-01 00:00:00+00",
    "1969-12-31 23:59:59.999999+00",
    "0001-01-01 00:00:00+00",
    "9999-12-31 23:59:59.999999+00",
    "2024-02-29 12:00:00.5+00",
  ],
  jsonb: [
    "{}",
    "[]",
    "null",
    '""',
    "12345678901234567890.12345678901234567890",
    '{"a": [1, null, true, {"b": "x, \\"y\\"\\n"}]}',
    '"🐎"',
  ],
};

/** Lists values for a column, including the boundary values of its type. */
function edgeValues(column: TableColumn): (string | null)[] {
  const known = column.values ?? (column.code && Object.keys(column.code.names)) ?? EDGES[column.type] ?? [];
  return column.nullable ? [null, ...known] : [...known];
}
