import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PageInfoSchema, Pagination } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { tryParseJson } from "../../base/input/decode.js";
import { invalidArgument } from "../api-error.js";
import type { LatestEvent } from "../world/latest-events.js";
import type { Timeline } from "../world/timeline.js";
import { type Query, queryError } from "./filters.js";

/** The sort key of a record, which cursors hold: the listing is ordered by it. */
export type Key = readonly string[];

interface Keyed<T> {
  readonly key: Key;
  readonly value: T;
}

/** The records of a listing, in the order of their keys. */
export interface Listing<T> {
  /** The pattern of each part of a key. */
  readonly keyParts: readonly RegExp[];
  /** Reads the records in the order of their keys. */
  read(descending: boolean, from: Key | undefined): Iterable<Keyed<T>>;
}

/** The patterns of key parts. Times are padded to 19 digits, so that their texts sort like numbers. */
export const keyPart = {
  id: /^[0-9a-f]{64}$/,
  party: /^([0-9a-f]{64}|network)$/,
  time: /^[0-8]\d{18}$/,
  text: /^[\x20-\x7e]+$/,
} as const;

/** Formats a time as a part of a key. */
export function timePart(nanoseconds: bigint): string {
  return String(nanoseconds).padStart(19, "0");
}

/** Returns a listing of records in memory, sorted by key. */
export function sortedListing<T>(
  records: Iterable<T>,
  keyParts: readonly RegExp[],
  keyOf: (record: T) => Key,
): Listing<T> {
  return {
    keyParts,
    read(descending, from) {
      const sign = descending ? -1 : 1;
      const bound = from?.join(" ");
      const found: (Keyed<T> & { readonly order: string })[] = [];
      for (const value of records) {
        const key = keyOf(value);
        const order = key.join(" ");
        if (bound === undefined || sign * compare(order, bound) >= 0) {
          found.push({ key, value, order });
        }
      }
      return found.sort((a, b) => sign * compare(a.order, b.order));
    },
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns a listing of the records of a timeline. The timeline is read lazily. */
export function timelineListing<T>(timeline: Timeline<T>, matches: (record: T) => boolean = () => true): Listing<T> {
  return {
    keyParts: [/^\d{1,18}$/, /^\d{1,15}$/],
    *read(descending, from) {
      const [height = "0", index = "0"] = from ?? [];
      // The timeline's `beyond` is exclusive, and `from` inclusive: start one position before.
      const beside = Number(index) + (descending ? 1 : -1);
      for (const record of timeline.read(descending, from && { height: BigInt(height), index: beside })) {
        if (matches(record.value)) {
          yield { key: [String(record.place.height), String(record.place.index)], value: record.value };
        }
      }
    },
  };
}

/** Returns the listing of those records that match a filter. */
export type RecordSource<T> = (matches: (record: T) => boolean) => Listing<T>;

/** Returns a source of records in memory, in the order of {@link sortedListing}. */
export function sorted<T>(
  records: Iterable<T>,
  keyParts: readonly RegExp[],
  keyOf: (record: T) => Key,
): RecordSource<T> {
  return (matches) => sortedListing([...records].filter(matches), keyParts, keyOf);
}

/** Returns a source of the records of a timeline, in the order of {@link timelineListing}. */
export function inTime<T>(timeline: Timeline<T>): RecordSource<T> {
  return (matches) => timelineListing(timeline, matches);
}

/** Returns a source of records, ordered by the time of the block that last changed each. */
export function byBlock<T>(records: { readonly latest: ReadonlyMap<string, LatestEvent<T>> }): RecordSource<T> {
  return (matches) => {
    const found = [...records.latest].filter(([, { value }]) => matches(value));
    const { keyParts, read } = sortedListing(found, [keyPart.time, keyPart.text], ([key, { block }]) => [
      timePart(block.time),
      key,
    ]);
    return {
      keyParts,
      *read(descending, from) {
        for (const { key, value } of read(descending, from)) {
          yield { key, value: value[1].value };
        }
      },
    };
  };
}

/**
 * Returns a source whose first page alone can be read. Some queries of the network have a defect that makes every
 * second page fail.
 */
export function firstPageOnly<T>(source: RecordSource<T>, fail: () => Error): RecordSource<T> {
  return (matches) => {
    const { keyParts, read } = source(matches);
    return {
      keyParts,
      read(descending, from) {
        if (from !== undefined) {
          throw fail();
        }
        return read(descending, from);
      },
    };
  };
}

/** The default and the maximum number of records on a page. */
const DEFAULT_SIZE = 1000;
const MAX_SIZE = 5000;

/** A page of a listing: the records, each with its cursor, and the page information. */
export interface Page<N> {
  readonly edges: { readonly node: N; readonly cursor: string }[];
  readonly pageInfo: MessageInitShape<typeof PageInfoSchema>;
}

/** A validated pagination (datanode/entities/pagination.go). */
export interface PageRequest {
  /** The maximum number of records, from 1 to 5000. */
  readonly size: number;
  /** The decoded cursor that the page starts at. */
  readonly cursor: string | undefined;
  /** Whether to read backwards: from the end of the listing, or before the cursor. */
  readonly backwards: boolean;
  readonly newestFirst: boolean;
}

/** The query's error, and how the listing deviates from the data node's other listings. */
export interface ListingOptions extends Query {
  /** Whether the listing ignores `newestFirst` and is always ascending. */
  readonly alwaysAscending?: boolean;
  /** The cursor format: a JSON object by default, or the text of the key's only part. */
  readonly cursors?: "json" | "text";
}

/**
 * Reads one page of a listing, by the rules of deployed nodes.
 *
 * @throws ConnectError with `InvalidArgument` if the pagination is invalid, with `Internal` if the cursor is not a JSON
 *   object
 */
export function readPage<T>(listing: Listing<T>, pagination: Pagination | undefined, options: ListingOptions): Page<T> {
  return readPageOf(listing, readPagination(pagination), options);
}

/**
 * Reads one page of a listing, by the rules of deployed nodes.
 *
 * The page starts at the cursor's record and then drops it. The data node does the same, and drops the first record even if
 * the cursor's record is gone and the first one is another (`PageEntities` in datanode/entities/entities.go).
 *
 * @throws ConnectError with `Internal` if the cursor is not a JSON object
 */
export function readPageOf<T>(
  listing: Listing<T>,
  { size, cursor, backwards, newestFirst }: PageRequest,
  options: ListingOptions,
): Page<T> {
  const cursors = CURSORS[options.cursors ?? "json"];
  const hasCursor = cursor !== undefined;
  const key = hasCursor ? cursors.read(cursor, listing, options) : undefined;
  const descending = options.alwaysAscending === true ? backwards : newestFirst !== backwards;
  const found: Keyed<T>[] = [];
  // One record more than the page shows that another page follows; the cursor's record is dropped below.
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

export function withNodes<T, N>({ edges, pageInfo }: Page<T>, toNode: (record: T) => N): Page<N> {
  return { edges: edges.map(({ node, cursor }) => ({ node: toNode(node), cursor })), pageInfo };
}

/**
 * Validates a pagination as deployed nodes do: `first` takes precedence over `last`, and a cursor of the other direction is
 * ignored.
 *
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
  // Deployed nodes reject a negative size before they decode the cursor, and 0 only afterwards.
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
    // Go's decoder reports the first byte that is not base64; here it is the first one outside the alphabet.
    const at = Math.max(0, text.search(/[^A-Za-z0-9+/]/));
    throw fail(`failed to decode ${name} cursor: failed to decode cursor: illegal base64 data at input byte ${at}`);
  }
  return bytes.toString();
}

const CURSORS = {
  json: {
    write: (key: Key) => JSON.stringify({ key }),

    /** As on deployed nodes, a JSON object without the field `key` is a cursor without a key. */
    read(cursor: string, { keyParts }: Pick<Listing<unknown>, "keyParts">, query: Query): Key | undefined {
      const value = tryParseJson(cursor);
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
