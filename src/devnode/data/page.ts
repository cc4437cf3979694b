import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PageInfoSchema, Pagination } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { invalidArgument } from "../api-error.js";
import { type Query, queryError } from "./conditions.js";
import type { Key, Keyed, Listing } from "./listing.js";

/** The default and the maximum number of records on a page. */
const DEFAULT_SIZE = 1000;
const MAX_SIZE = 5000;

/** A page of a listing, as its message has it: the records, each with its cursor, and the page information. */
export interface Page<N> {
  readonly edges: { readonly node: N; readonly cursor: string }[];
  readonly pageInfo: MessageInitShape<typeof PageInfoSchema>;
}

/** What a pagination asks for (datanode/entities/pagination.go). */
export interface PageRequest {
  /** How many records, from 1 to 5000. */
  readonly size: number;
  /** The text of the cursor that the page starts at, decoded. */
  readonly cursor: string | undefined;
  /** Whether the page ends the listing or ends before the cursor. */
  readonly backwards: boolean;
  readonly newestFirst: boolean;
}

/** How a listing differs from the others of the data node. */
export interface PageOptions extends Query {
  /** The order of the listing whatever `newestFirst` says. */
  readonly alwaysAscending?: boolean;
  /** How cursors hold keys: as JSON by default, or as the key's only part. */
  readonly cursors?: "json" | "text";
}

/**
 * Reads one page of a listing, by the rules of deployed nodes (specification, 2.1 and 2.2).
 *
 * @param listing the records and their keys
 * @param pagination the pagination of the request; the first page, newest first, if it is `undefined`
 * @param options how the data node words the failure of the listing's query, and how the listing differs
 * @returns the page
 * @throws ConnectError with `InvalidArgument` if the pagination is invalid, with `Internal` if the cursor is no JSON object
 */
export function readPage<T>(listing: Listing<T>, pagination: Pagination | undefined, options: PageOptions): Page<T> {
  return readPageOf(listing, readPagination(pagination), options);
}

/**
 * Reads one page of a listing, as {@link readPage} does, for a pagination that was checked already.
 *
 * A page reads from the record of its cursor on, and leaves that one out: so does the data node, which drops the first
 * record even where it is another one because the cursor's is gone (`PageEntities` in datanode/entities/entities.go).
 *
 * @param listing the records and their keys
 * @param request what {@link readPagination} made of the pagination
 * @param options how the data node words the failure of the listing's query, and how the listing differs
 * @returns the page
 * @throws ConnectError with `Internal` if the cursor is no JSON object
 */
export function readPageOf<T>(
  listing: Listing<T>,
  { size, cursor, backwards, newestFirst }: PageRequest,
  options: PageOptions,
): Page<T> {
  const cursors = CURSORS[options.cursors ?? "json"];
  const hasCursor = cursor !== undefined;
  const key = hasCursor ? cursors.read(cursor, listing, options) : undefined;
  const descending = options.alwaysAscending === true ? backwards : newestFirst !== backwards;
  const found: Keyed<T>[] = [];
  // The record of the cursor is left out below, and one more shows another page.
  const wanted = size + (hasCursor ? 2 : 1);
  for (const record of listing.read(descending, key)) {
    found.push(record);
    if (found.length === wanted) {
      break;
    }
  }
  const [first] = found;
  const isAfterFirst = first !== undefined && hasCursor && (found.length > size || cursors.write(first.key) === cursor);
  const start = isAfterFirst ? 1 : 0;
  const hasMore = found.length > start + size;
  const edges = found.slice(start, start + size).map(({ key: ofRecord, value }) => ({
    node: value,
    cursor: Buffer.from(cursors.write(ofRecord)).toString("base64"),
  }));
  if (backwards) {
    edges.reverse();
  }
  return {
    edges,
    pageInfo: {
      hasNextPage: backwards ? isAfterFirst : hasMore,
      hasPreviousPage: backwards ? hasMore : isAfterFirst,
      startCursor: edges.at(0)?.cursor ?? "",
      endCursor: edges.at(-1)?.cursor ?? "",
    },
  };
}

/**
 * Makes the messages of a page's records.
 *
 * @param page the page of records
 * @param toNode makes the message of a record
 * @returns the page of messages, with the same cursors
 */
export function withNodes<T, N>({ edges, pageInfo }: Page<T>, toNode: (record: T) => N): Page<N> {
  return { edges: edges.map(({ node, cursor }) => ({ node: toNode(node), cursor })), pageInfo };
}

/**
 * Reads a pagination as deployed nodes do: `first` counts before `last`, and a cursor of the other direction is ignored.
 *
 * @param pagination the pagination of the request
 * @param fail makes the error for a reason in the network's words; `InvalidArgument` by default
 * @returns what it asks for
 * @throws ConnectError if both cursors are set, a size is not from 1 to 5000, or a cursor is empty or not base64
 */
export function readPagination(
  pagination: Pagination | undefined,
  fail = (reason: string) => invalidArgument("invalid pagination", reason),
): PageRequest {
  const { first, after, last, before, newestFirst = true } = pagination ?? {};
  if (after !== undefined && before !== undefined) {
    throw fail("cannot set both a before and after cursor");
  }
  const backwards = first === undefined && (last !== undefined || before !== undefined);
  const size = (backwards ? last : first) ?? DEFAULT_SIZE;
  const outOfRange = "pagination limit must be in range 0-5000";
  // The node finds a negative size before it reads the cursor, and 0 only afterwards.
  if (size < 0 || size > MAX_SIZE) {
    throw fail(outOfRange);
  }
  const text = backwards ? before : after;
  const cursor = text === undefined ? undefined : decodeCursor(text, backwards ? "before" : "after", fail);
  if (size === 0) {
    throw fail(outOfRange);
  }
  return { size, cursor, backwards, newestFirst };
}

function decodeCursor(text: string, name: string, fail: (reason: string) => Error): string {
  if (text === "") {
    throw fail(`failed to decode ${name} cursor: cursor is empty`);
  }
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) {
    // Go's decoder names the first byte that is not base64: here it is the first that is not of the alphabet.
    const at = Math.max(0, text.search(/[^A-Za-z0-9+/]/));
    throw fail(`failed to decode ${name} cursor: failed to decode cursor: illegal base64 data at input byte ${at}`);
  }
  return bytes.toString();
}

const CURSORS = {
  json: {
    write: (key: Key) => JSON.stringify({ key }),

    /** As on deployed nodes, a JSON object of other names is a cursor without a key. */
    read(cursor: string, { keyParts }: Pick<Listing<unknown>, "keyParts">, query: Query): Key | undefined {
      const value = parse(cursor);
      const key: unknown = isObject(value) ? (value["key"] ?? []) : undefined;
      if (Array.isArray(key) && key.length === 0) {
        return undefined;
      }
      if (Array.isArray(key) && key.length === keyParts.length) {
        const texts = key.filter((text, index) => typeof text === "string" && keyParts[index]?.test(text) === true);
        if (texts.length === key.length) {
          return texts;
        }
      }
      throw queryError(query, "parsing cursor: parsing cursor: it is not of this listing");
    },
  },
  text: {
    write: ([text = ""]: Key) => text,
    read: (cursor: string): Key => [cursor],
  },
} as const;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
