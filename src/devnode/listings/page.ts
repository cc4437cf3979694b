import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PGlite } from "@electric-sql/pglite";
import type { PageInfoSchema, Pagination } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { invalid } from "../invalid.js";

/** The default and the maximum number of records on a page. */
const DEFAULT_SIZE = 1000;
const MAX_SIZE = 5000;

/** A column that a listing is ordered by. The key columns of a listing together identify a row. */
export interface KeyColumn {
  readonly name: string;
  /** The PostgreSQL type, to cast values that are given as text. */
  readonly type: string;
  /** Matches the column's values as text. */
  readonly pattern: RegExp;
}

/** The source of a listing's rows. */
export interface Listing {
  /** The table. */
  readonly from: string;
  /** The columns that it is ordered by. Oldest first is ascending, newest first is descending. */
  readonly key: readonly KeyColumn[];
  /** Whether it can only be read newest first, as deployed nodes do with stop orders. */
  readonly newestFirstOnly?: boolean;
}

/** Conditions that rows must all meet. `$1` and so on stand for the parameters. */
export interface Conditions {
  readonly sql: readonly string[];
  readonly parameters: readonly unknown[];
}

/** A row of a table, in PGlite's types. */
export type Row = Readonly<Record<string, unknown>>;

/** The rows of a page, each with its cursor, and the page information. */
export interface Page {
  readonly rows: readonly { readonly row: Row; readonly cursor: string }[];
  readonly pageInfo: MessageInitShape<typeof PageInfoSchema>;
}

/**
 * Read one page of a listing (specification, 2.1 and 2.2). The key of the neighbouring row finds the page, so rows that
 * are added or removed do not shift it.
 *
 * @param pg the database
 * @param listing the table and its key
 * @param pagination the pagination of the request; the first page, newest first, if it is `undefined`
 * @param conditions conditions that rows must meet; none by default
 * @returns the rows of the page and its page information
 * @throws ConnectError with `InvalidArgument` if the pagination is invalid
 */
export async function readPage(
  pg: PGlite,
  listing: Listing,
  pagination: Pagination | undefined,
  { sql, parameters }: Conditions = { sql: [], parameters: [] },
): Promise<Page> {
  const { size, cursor, backwards, newestFirst } = readPagination(pagination, listing);
  const descending = newestFirst !== backwards;
  const conditions = [...sql];
  if (cursor !== undefined) {
    const bounds = listing.key.map(({ type }, index) => `$${parameters.length + index + 1}::text::${type}`);
    const columns = listing.key.map(({ name }) => name);
    conditions.push(`(${columns.join(", ")}) ${descending ? "<" : ">"} (${bounds.join(", ")})`);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const order = listing.key.map(({ name }) => `${name} ${descending ? "DESC" : "ASC"}`).join(", ");
  const { rows: found } = await pg.query<Row>(
    `SELECT * FROM ${listing.from} ${where} ORDER BY ${order} LIMIT ${size + 1}`, // One more row shows a next page.
    [...parameters, ...(cursor ?? [])],
  );
  const rows = found.slice(0, size).map((row) => ({ row, cursor: writeCursor(listing, row) }));
  if (backwards) {
    rows.reverse();
  }
  const more = found.length > size;
  return {
    rows,
    pageInfo: {
      hasNextPage: backwards ? cursor !== undefined : more,
      hasPreviousPage: backwards ? more : cursor !== undefined,
      startCursor: rows.at(0)?.cursor ?? "",
      endCursor: rows.at(-1)?.cursor ?? "",
    },
  };
}

interface PageRequest {
  readonly size: number;
  readonly cursor: readonly string[] | undefined;
  readonly backwards: boolean;
  readonly newestFirst: boolean;
}

function readPagination(pagination: Pagination | undefined, listing: Listing): PageRequest {
  const { first, after, last, before, newestFirst = true } = pagination ?? {};
  if (first !== undefined && last !== undefined) {
    throw invalid("pagination", "first and last cannot both be given");
  }
  if (after !== undefined && before !== undefined) {
    throw invalid("pagination", "after and before cannot both be given");
  }
  if ((first !== undefined && before !== undefined) || (last !== undefined && after !== undefined)) {
    throw invalid("pagination", "first goes with after, and last with before");
  }
  const size = first ?? last ?? DEFAULT_SIZE;
  if (size < 1 || size > MAX_SIZE) {
    throw invalid("pagination", `${first === undefined ? "last" : "first"} is ${size}, not from 1 to ${MAX_SIZE}`);
  }
  const backwards = last !== undefined || before !== undefined;
  if (listing.newestFirstOnly === true && (backwards || !newestFirst)) {
    throw invalid("pagination", "this listing is given newest first only, and not from its end");
  }
  const cursor = after ?? before;
  return { size, cursor: cursor === undefined ? undefined : readCursor(listing, cursor), backwards, newestFirst };
}

function writeCursor(listing: Listing, row: Row): string {
  return Buffer.from(JSON.stringify(listing.key.map(({ name }) => String(row[name])))).toString("base64");
}

function readCursor({ key }: Listing, cursor: string): string[] {
  const bytes = Buffer.from(cursor, "base64");
  if (cursor === "" || bytes.toString("base64") !== cursor) {
    throw invalid("pagination", "the cursor is not base64");
  }
  const values = parse(bytes.toString());
  if (!Array.isArray(values) || values.length !== key.length) {
    throw invalid("pagination", "the cursor is not one of this listing");
  }
  return key.map(({ pattern }, index) => {
    const value: unknown = values[index];
    if (typeof value !== "string" || !pattern.test(value)) {
      throw invalid("pagination", "the cursor is not one of this listing");
    }
    return value;
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
