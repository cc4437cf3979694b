import type { JsonValue } from "@bufbuild/protobuf";
import { RequestError } from "../../base/errors/index.js";
import type { TableRange } from "../sink.js";

/**
 * The rows of a statement. Values are those of JSON: numbers of 64 bits and more, decimals and identifiers are text, as in Protobuf
 * JSON, and times are RFC 3339 in UTC.
 */
export interface QueryRows {
  /** The names of the columns; all different. */
  readonly columns: readonly string[];
  /** Reads the rows, in batches, no faster than they are consumed. */
  batches(): AsyncIterable<{ readonly rows: readonly (readonly JsonValue[])[] }>;
}

/** A database that a statement reads, and cannot change. */
export interface QueryDatabase extends AsyncDisposable {
  /**
   * The blocks that the tables of the statement lack although blocks before or after them are loaded, or were asked for. At most 1000, the
   * oldest first. None of PostgreSQL, where it is not known which tables a statement reads.
   */
  readonly gaps: readonly TableRange[];
  /**
   * Runs a statement.
   *
   * @throws {@link RequestError} if the statement is wrong, or would do more than read
   */
  query(sql: string): Promise<QueryRows>;
  /**
   * Writes the rows of a statement to a temporary Parquet file, which is deleted with the database. Absent if the database cannot
   * write one.
   *
   * @returns the path of the file
   * @throws {@link RequestError} as {@link query} does
   */
  saveParquet?(sql: string): Promise<string>;
  /** Lists the names of tables, views, functions and columns. */
  names(): Promise<readonly string[]>;
}

/** What statements read. It may be another one for each statement. */
export interface QuerySource extends AsyncDisposable {
  /**
   * Opens the database of a statement.
   *
   * @param signal interrupts everything that is done with the database, too
   * @throws {@link RequestError} if the statement is wrong; errors of the node, of files and of databases
   */
  open(sql: string, signal: AbortSignal): Promise<QueryDatabase>;
}

/** Returns names of columns that are all different, as keys of a JSON object must be: repeated ones get a number. */
export function distinctNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let distinct = name;
    for (let count = 1; taken.has(distinct); count += 1) {
      distinct = `${name}:${count}`;
    }
    taken.add(distinct);
    return distinct;
  });
}

/** Returns a time of a database, which is in UTC, as RFC 3339 writes it. */
export function timeText(text: string): string {
  return text.replace(" ", "T").replace(/[+]00(?::00)?$/u, "Z");
}

export function severalStatements(): RequestError {
  return new RequestError("more than one statement was given", {
    advice: "Run one statement at a time.",
  });
}

/** The begin of a statement that asks for the plan of another one. What a parenthesis begins may be that statement. */
const EXPLAIN =
  /^(?:\s|--[^\n]*\n|\/\*.*?\*\/)*explain(?:(?:\s+(?:analyze|verbose))+(?=[\s(])|\s*\((?!\s*(?:select|with|from|values|table|\())[\w\s,]*\))?(?=[\s(])/isu;

/**
 * Separates a statement from what asks for its plan in place of its rows.
 *
 * @returns the statement, and `EXPLAIN` with its options and the comments before it; empty if the rows are asked for
 */
export function splitExplain(sql: string): { readonly explain: string; readonly statement: string } {
  const [explain = ""] = EXPLAIN.exec(sql) ?? [];
  return { explain, statement: sql.slice(explain.length) };
}

/**
 * Asserts that a statement has no character at which databases end it.
 *
 * @throws {@link RequestError} if it has one
 */
export function assertStatement(sql: string): void {
  if (sql.includes("\0")) {
    throw new RequestError("the statement contains a NUL character, at which it would end", {
      advice: "Remove the character.",
    });
  }
}

export function changingStatement(): RequestError {
  return new RequestError("the statement is not one that only reads rows", {
    advice: "Use SELECT, WITH, VALUES, or EXPLAIN of these; in DuckDB also DESCRIBE, SHOW or SUMMARIZE.",
  });
}
