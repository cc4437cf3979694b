import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PageInfoSchema, Pagination } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { invalid } from "../invalid.js";
import type { Key, Keyed, Listing } from "./listing.js";

/** The default and the maximum number of records on a page. */
const DEFAULT_SIZE = 1000;
const MAX_SIZE = 5000;

/** A page of a listing, as its message has it: the records' messages, each with its cursor, and the page information. */
export interface Page<N> {
  readonly edges: { readonly node: N; readonly cursor: string }[];
  readonly pageInfo: MessageInitShape<typeof PageInfoSchema>;
}

/**
 * Read one page of a listing (specification, 2.1 and 2.2). The key of the neighbouring record finds the page, so records
 * that are added or removed do not shift it.
 *
 * @param listing the records and their keys
 * @param pagination the pagination of the request; the first page, newest first, if it is `undefined`
 * @param toNode makes the message of a record
 * @returns the page
 * @throws ConnectError with `InvalidArgument` if the pagination is invalid
 */
export function readPage<T, N>(
  listing: Listing<T>,
  pagination: Pagination | undefined,
  toNode: (record: T) => N,
): Page<N> {
  const { size, cursor, backwards, newestFirst } = readPagination(pagination, listing);
  const found: Keyed<T>[] = [];
  // One more record shows a next page.
  for (const record of listing.read(newestFirst !== backwards, cursor)) {
    found.push(record);
    if (found.length > size) {
      break;
    }
  }
  const edges = found.slice(0, size).map(({ key, value }) => ({ node: toNode(value), cursor: writeCursor(key) }));
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
  readonly cursor: Key | undefined;
  readonly backwards: boolean;
  readonly newestFirst: boolean;
}

type Rules = Pick<Listing<unknown>, "keyParts" | "newestFirstOnly">;

function readPagination(pagination: Pagination | undefined, listing: Rules): PageRequest {
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

function writeCursor(key: Key): string {
  return Buffer.from(JSON.stringify(key)).toString("base64");
}

function readCursor({ keyParts }: Rules, cursor: string): Key {
  const bytes = Buffer.from(cursor, "base64");
  if (cursor === "" || bytes.toString("base64") !== cursor) {
    throw invalid("pagination", "the cursor is not base64");
  }
  const values = parse(bytes.toString());
  if (!Array.isArray(values) || values.length !== keyParts.length) {
    throw invalid("pagination", "the cursor is not one of this listing");
  }
  return keyParts.map((pattern, index) => {
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
