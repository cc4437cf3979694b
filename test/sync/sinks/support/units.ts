import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { type CsvRow, encodeCsv, type TableName, tableSchema } from "tradewire";
import type { FetchUnit, LedgerEntry, Sink, SinkOpening, Unit } from "tradewire/sync";

/** Blocks of a segment. */
const BLOCKS = 10n;

export function unitAt(table: TableName, segment: number, changes: Partial<Unit> = {}): Unit {
  return {
    chainId: "chain",
    table,
    fromBlock: BigInt(segment - 1) * BLOCKS + 1n,
    toBlock: BigInt(segment) * BLOCKS,
    segmentId: `id-${segment}`,
    previousSegmentId: segment === 1 ? "" : `id-${segment - 1}`,
    schemaVersion: 116n,
    ...changes,
  };
}

/** Sends a file, and then perhaps an error. */
export function fetchOf(
  columns: readonly string[],
  rows: readonly CsvRow[],
  { error, counted = rows.length }: { error?: Error; counted?: number } = {},
): FetchUnit {
  return async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of encodeCsv(columns, rows)) {
      pieces.push(piece);
    }
    async function* content() {
      yield* pieces;
      if (error !== undefined) {
        throw error;
      }
    }
    const hash = createHash("sha256");
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const sha256 = pieces.reduce((made, piece) => made.update(piece), hash).digest("hex");
    return { columns, content: content(), measures: () => ({ rows: BigInt(counted), bytes: BigInt(bytes), sha256 }) };
  };
}

export const plainly = (replace = false): Parameters<Sink["load"]>[2] => ({
  replace,
  signal: new AbortController().signal,
});

export function opening(tables: readonly TableName[], changes: Partial<SinkOpening> = {}): SinkOpening {
  return {
    chainId: "chain",
    tables,
    onUnknown: () => undefined,
    unknownColumns: "add",
    signal: new AbortController().signal,
    ...changes,
  };
}

export async function entriesOf(sink: Sink, table: TableName): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for await (const entry of sink.entries(table)) {
    entries.push(entry);
  }
  return entries;
}

export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-sink-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Asks DuckDB itself, values as JSON has them. */
export type Ask = (query: string) => Promise<unknown[][]>;

/** Open DuckDB once for several queries. */
export async function withDuckdb<T>(path: string, use: (ask: Ask) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    return await use(async (query) => (await connection.runAndReadAll(query)).getRowsJson());
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Ask DuckDB one thing. */
export function ask(query: string, path = ":memory:"): Promise<unknown[][]> {
  return withDuckdb(path, (one) => one(query));
}

export const columnsOf = (table: TableName) => tableSchema(table, 116).columns.map(({ name }) => name);

/** A row that fits its table. */
export function rowOf(table: TableName, values: Readonly<Record<string, string | null>>): CsvRow {
  return tableSchema(table, 116).columns.map(({ name, holds, values: known }) => {
    const usual = { time: "2023-10-19 08:13:00+00", id: "\\x0a", flag: "t", json: "{}", text: "x" };
    const fallback = known?.[0] ?? Object.entries(usual).find(([kind]) => kind === holds)?.[1] ?? "1";
    return values[name] === undefined ? fallback : values[name];
  });
}
