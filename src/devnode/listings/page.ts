import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PGlite } from "@electric-sql/pglite";
import type { PageInfoSchema, Pagination } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { invalid } from "../invalid.js";

/** Records on a page where the request does not say how many, and at most. */
const DEFAULT_SIZE = 1000;
const MAX_SIZE = 5000;

/** A column that a listing is ordered by. All of them together tell rows apart. */
export interface KeyColumn {
  readonly name: string;
  /** The PostgreSQL type, for values that come as text. */
  readonly type: string;
  /** What its values look like as text. */
  readonly pattern: RegExp;
}

/** Where a listing's rows come from. */
export interface Listing {
  /** The table. */
  readonly from: string;
  /** The columns that it is ordered by, ascending; newest first is the other way round. */
  readonly key: readonly KeyColumn[];
  /** Whether it can only be read from the newest on, as deployed nodes do with stop orders. */
  readonly newestFirstOnly?: boolean;
}

/** Conditions that rows must meet, all of them. `$1` and so on are the parameters. */
export interface Conditions {
  readonly sql: readonly string[];
  readonly parameters: readonly unknown[];
}

/** A row of a table, in PGlite's types. */
export type Row = Readonly<Record<string, unknown>>;

/** Rows of a page, each with its cursor, and where it lies. */
export interface Page {
  readonly rows: readonly { readonly row: Row; readonly cursor: string }[];
  readonly pageInfo: MessageInitShape<typeof PageInfoSchema>;
}

/**
 * Reads one page of a listing (specification, 2.1 and 2.2), found by the key of its neighbour rather than by counting: rows
 * that come or go do not shift it.
 *
 * @throws ConnectError with `InvalidArgument` where the page cannot be right
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
    `SELECT * FROM ${listing.from} ${where} ORDER BY ${order} LIMIT ${size + 1}`, // One more tells whether there is more.
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
