import { deepStrictEqual } from "node:assert/strict";
import type { UnknownPart } from "../../archive/unknown-part.js";
import type { TableName } from "../../schema/tables.js";
import type { Sink, SinkOpening } from "../sink.js";
import type { LedgerEntry } from "../unit.js";

/** A row by the names of its columns: values as `COPY` writes them, such as `t` or `\x0a`, and `null` for NULL. */
export type ReadRow = Readonly<Record<string, string | null>>;

/** A place for a sink, which is new in each case, and how to look into it. */
export interface SinkHost {
  /** Make a sink on the place. Each call makes another one on the same place. */
  makeSink(): Sink;
  /**
   * Read the rows of a table by other means than the sink, such as the database's own client. No sink may be needed to be
   * open.
   *
   * @param table the table
   * @returns the rows in any order, values as `COPY` writes them, so that nothing is lost or rounded; `_from_block` may be
   *   left out. `null` where there is no such table
   */
  readRows(table: TableName): Promise<readonly ReadRow[] | null>;
}

/** A promise that every sink keeps. */
export interface SinkCase {
  readonly name: string;
  /** Whether two sinks are open on one place at once. Where that cannot be, leave these cases out, and tell users so. */
  readonly sideBySide: boolean;
  /**
   * Try it.
   *
   * @param host a new place
   * @throws an `AssertionError` where the promise is broken
   */
  run(host: SinkHost): Promise<void>;
}

/** The chain that the cases are about. */
export const CHAIN = "contract-chain";

/** An opened sink, and what it has told of. */
export interface Opened {
  readonly sink: Sink;
  readonly told: readonly UnknownPart[];
}

/**
 * Make a case.
 *
 * @param name what is promised
 * @param run tries it
 * @param sideBySide whether it opens two sinks at once
 * @returns the case
 */
export function sinkCase(name: string, run: (host: SinkHost) => Promise<void>, sideBySide = false): SinkCase {
  return { name, sideBySide, run };
}

/**
 * Use an opened sink, and close it.
 *
 * @param host the place
 * @param tables the tables that it is opened for
 * @param use uses it
 * @param opening what else it is opened with
 */
export async function withOpened(
  host: SinkHost,
  tables: readonly TableName[],
  use: (opened: Opened) => Promise<void>,
  opening: Partial<SinkOpening> = {},
): Promise<void> {
  const told: UnknownPart[] = [];
  const sink = host.makeSink();
  try {
    await sink.open({
      chainId: CHAIN,
      tables,
      onUnknown: (unknown) => told.push(unknown),
      unknownColumns: "add",
      signal: new AbortController().signal,
      ...opening,
    });
    await use({ sink, told });
  } finally {
    await sink[Symbol.asyncDispose]();
  }
}

/**
 * Read the ledger of a table.
 *
 * @param sink the sink
 * @param table the table
 * @param behind only entries that begin behind this block; all by default
 * @returns the entries
 */
export async function entriesOf(sink: Sink, table: TableName, behind?: bigint): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for await (const entry of sink.entries(table, behind)) {
    entries.push(entry);
  }
  return entries;
}

/** The options of a plain load, with a signal that nobody aborts. */
export function plainly(replace = false): { readonly replace: boolean; readonly signal: AbortSignal } {
  return { replace, signal: new AbortController().signal };
}

/**
 * Compare the rows of a table with those that are to be there, in any order.
 *
 * @param host the place
 * @param table the table
 * @param expected the rows; other columns than theirs have to be NULL or not there
 * @param floats the columns of floating-point numbers, whose texts may differ
 */
export async function expectRows(
  host: SinkHost,
  table: TableName,
  expected: readonly ReadRow[],
  floats: ReadonlySet<string> = new Set(),
): Promise<void> {
  const found = (await host.readRows(table)) ?? [];
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
