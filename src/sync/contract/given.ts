import { createHash } from "node:crypto";
import { encodeCsv } from "../../csv/encode.js";
import type { CsvRow } from "../../csv/format.js";
import { RequestError } from "../../errors/index.js";
import { type TableColumn, tableSchema } from "../../schema/table-schema.js";
import type { TableName } from "../../schema/tables.js";
import type { FetchUnit } from "../sink.js";
import { targetOf } from "../sinks/columns.js";
import type { Measures, Unit } from "../unit.js";
import { CHAIN, type ReadRow } from "./host.js";
import { valuesOf } from "./values.js";

/** A file of a unit. */
export interface GivenCsv {
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
}

/** How a file arrives. */
export interface Arrival {
  /** Fails with `error` after so many bytes. */
  readonly failAfter?: number;
  readonly error?: Error;
  /** How many rows are said to have arrived; all by default. */
  readonly rows?: bigint;
  /** Is waited for once the header has gone. */
  readonly gate?: Promise<void>;
}

/** Asks for a file, and counts how often it was asked. */
export interface CountedFetch {
  readonly fetch: FetchUnit;
  readonly calls: () => number;
}

/** How many rows a made-up file has. */
const ROWS = 16;
/** The sizes of the pieces in which a file arrives, in turn: values and characters are cut anywhere. */
const PIECES = [1, 2, 3, 5, 64, 1000, 30_000];

/**
 * Make a unit. Segments have ten blocks.
 *
 * @param table the table
 * @param first the number of its first segment, from 1 on
 * @param options its last segment, the schema version, and what tells another history
 * @returns the unit
 */
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

/**
 * Make up a file with all kinds of values.
 *
 * @param table the table
 * @param options the schema version, and a number from which keys are made, so that no two files have the same
 * @returns the file
 */
export function madeUp(
  table: TableName,
  { version = 116, from = 0, rows = ROWS }: { version?: number; from?: number; rows?: number } = {},
): GivenCsv {
  const { columns, key } = tableSchema(table, version);
  const values = columns.map((column) => valuesOf(column));
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

/**
 * Say how the rows of a file are to stand in a sink.
 *
 * @param table the table
 * @param csv the file
 * @returns the rows by the names of the sink's columns
 */
export function rowsOf(table: TableName, { columns, rows }: GivenCsv): ReadRow[] {
  const names = columns.map((column) => targetOf(table, column)?.name ?? column);
  return rows.map((row) => Object.fromEntries(row.map((value, index) => [names[index] ?? "", value])));
}

/**
 * Find the columns of a table whose texts may differ, as they are floating-point numbers.
 *
 * @param table the table
 * @returns their names
 */
export function floatsOf(table: TableName): ReadonlySet<string> {
  return new Set(tableSchema(table, 116).columns.flatMap(({ name, type }) => (type === "float8" ? [name] : [])));
}

/**
 * Make a node's answer of a file.
 *
 * @param csv the file
 * @param arrival how it arrives
 * @returns asks for it
 */
export function arriving(csv: GivenCsv, arrival: Arrival = {}): CountedFetch {
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
            throw new RequestError("the file has not ended", { advice: "Read it to its end before." });
          }
          return measures;
        },
      };
    },
  };
}

/**
 * Write a file.
 *
 * @param csv the file
 * @returns its bytes
 */
export async function bytesOf({ columns, rows }: GivenCsv): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of encodeCsv(columns, rows)) {
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** A value of a key's column, another one for each row where its type has as many. */
function keyValue(column: TableColumn, number: number): string {
  if (column.values !== undefined || column.code !== undefined) {
    const values = valuesOf(column).filter((value) => value !== null);
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
