import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PGlite } from "@electric-sql/pglite";
import type { PageInfoSchema, Pagination } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { invalid } from "../invalid.js";
import type { Conditions } from "./conditions.js";
import type { Row } from "./row.js";

/** The default and the maximum number of records on a page. */
const DEFAULT_SIZE = 1000;
const MAX_SIZE = 5000;

/** SQL that reads a cursor's text as a value of a PostgreSQL type. */
const boundOf = {
  bigint: (text: string) => `${text}::text::bigint`,
  text: (text: string) => `${text}::text`,
  bytea: (hex: string) => `decode(${hex}, 'hex')`,
  timestamptz: (time: string) => `(timestamptz 'epoch' + ${time}::text::bigint / 1000 * interval '1 microsecond')`,
};

/** A column that a listing is ordered by. The key columns of a listing together identify a row. */
export interface KeyColumn {
  readonly name: string;
  /** The PostgreSQL type. */
  readonly type: keyof typeof boundOf;
  /** Matches the column's values as text. */
  readonly pattern: RegExp;
}

/** The source of a listing's rows. */
export interface Listing {
  /** The tables, whose rows are listed together. */
  readonly from: readonly string[];
  /** The columns that it is ordered by. Oldest first is ascending, newest first is descending. */
  readonly key: readonly KeyColumn[];
  /** Whether it can only be read newest first, as deployed nodes do with stop orders. */
  readonly newestFirstOnly?: boolean;
}

/** A page of a listing, as its message has it: the rows' messages, each with its cursor, and the page information. */
export interface Page<N> {
  readonly edges: { readonly node: N; readonly cursor: string }[];
  readonly pageInfo: MessageInitShape<typeof PageInfoSchema>;
}

/** The key of what happens in blocks: the height, and the place in the block. */
export const blockKey: readonly KeyColumn[] = [
  { name: "row_height", type: "bigint", pattern: /^\d{1,18}$/ },
  { name: "row_index", type: "bigint", pattern: /^\d{1,18}$/ },
];

/** A key column of times, whose cursors are Unix nanoseconds. */
export const timeKey: KeyColumn = { name: "vega_time", type: "timestamptz", pattern: /^[0-8]?\d{1,18}$/ };

/** A key column of identifiers that are kept as bytes. */
export const bytesKey = (name: string): KeyColumn => ({ name, type: "bytea", pattern: /^[0-9a-f]{64}$/ });

/** A key column of identifiers that are kept as text. */
export const idKey: KeyColumn = { name: "id", type: "text", pattern: /^[0-9a-f]{64}$/ };

/**
 * Read one page of a listing (specification, 2.1 and 2.2). The key of the neighbouring row finds the page, so rows that
 * are added or removed do not shift it.
 *
 * @param pg the database
 * @param listing the tables and their key
 * @param pagination the pagination of the request; the first page, newest first, if it is `undefined`
 * @param toNode makes the message of a row
 * @param conditions conditions that rows must meet; none by default
 * @returns the page
 * @throws ConnectError with `InvalidArgument` if the pagination is invalid
 */
export async function readPage<N>(
  pg: PGlite,
  listing: Listing,
  pagination: Pagination | undefined,
  toNode: (row: Row) => N,
  { sql, parameters }: Conditions = { sql: [], parameters: [] },
): Promise<Page<N>> {
  const { size, cursor, backwards, newestFirst } = readPagination(pagination, listing);
  const descending = newestFirst !== backwards;
  const conditions = [...sql];
  if (cursor !== undefined) {
    const bounds = listing.key.map(({ type }, index) => boundOf[type](`$${parameters.length + index + 1}`));
    const columns = listing.key.map(({ name }) => name);
    conditions.push(`(${columns.join(", ")}) ${descending ? "<" : ">"} (${bounds.join(", ")})`);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const order = listing.key.map(({ name }) => `${name} ${descending ? "DESC" : "ASC"}`).join(", ");
  // One more row shows a next page. Each table gives its first rows alone, for PostgreSQL to compute no others.
  const ordered = `ORDER BY ${order} LIMIT ${size + 1}`;
  const tables = listing.from.map((table) => `(SELECT * FROM ${table} ${where} ${ordered})`);
  const { rows: found } = await pg.query<Row>(`SELECT * FROM (${tables.join(" UNION ALL ")}) AS listed ${ordered}`, [
    ...parameters,
    ...(cursor ?? []),
  ]);
  const edges = found.slice(0, size).map((row) => ({ node: toNode(row), cursor: writeCursor(listing, row) }));
  if (backwards) {
    edges.reverse();
  }
  const more = found.length > size;
  return {
    edges,
    pageInfo: {
      hasNextPage: backwards ? cursor !== undefined : more,
      hasPreviousPage: backwards ? more : cursor !== undefined,
      startCursor: edges.at(0)?.cursor ?? "",
      endCursor: edges.at(-1)?.cursor ?? "",
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
