import { createHash } from "node:crypto";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { CanceledError, ProtocolError, type Server } from "../../base/errors/index.js";
import { invalidValueError } from "../../base/input/assert.js";
import type { CallOptions } from "../../base/input/call-options.js";
import { linkedController } from "../../base/signal/abort.js";
import { cursor, MAX_PAGE_SIZE, pageSize } from "./pagination.js";
import type { Connection, SentPage } from "./paging-method.js";

/** Which pages of a listing are fetched. */
export interface PageOptions extends CallOptions {
  /**
   * Records per page, 1 to 5000; 1000 by default, and 5000 for `ListGovernanceData` of a data node. For methods with page
   * tokens, the server may send fewer, and chooses the default.
   */
  readonly pageSize?: number | undefined;
  /** The cursor of a record: the listing starts after it. */
  readonly after?: string | undefined;
  /** Maximum number of records; all by default. */
  readonly limit?: number | undefined;
}

export interface PageSource<P extends SentPage<unknown>> {
  readonly by: Connection["by"];
  /** What is asked for the pages, for errors. */
  readonly server: Server;
  fetchPage(
    page: { first: number | undefined; after: string | undefined },
    signal: AbortSignal,
  ): Promise<P | undefined>;
  /** Identifies a record, to detect pages that repeat. */
  idOf(edge: P["edges"][number]): string;
  /**
   * Counts the rows of the node's page that a record occupies, if a record may occupy several. The node then ends a
   * page early that holds such a record.
   */
  rowsOf?(edge: P["edges"][number]): number;
}

/** A page, and how many of its records count towards the limit. */
export interface CountedPage<P> {
  readonly page: P;
  readonly edges: number;
}

const DEFAULT_PAGE_SIZE = 1000;
/** Maximum number of pages of a listing that only contain records of an earlier one: pages shift, but not that often. */
const MAX_REPEATED_PAGES = 10;
/** Maximum number of empty pages in a row: with page tokens, a server that filters records may send some (AIP-158). */
const MAX_EMPTY_PAGES = 1000;

/**
 * Fetches the pages of a listing, each while the previous one is consumed. Nothing is sent before the pages are
 * requested, and each iteration starts from the beginning.
 *
 * @throws {@link RequestError} immediately, if an option is invalid
 * @throws {@link ProtocolError} while iterating, if the node repeats a cursor, or pages under new cursors, or promises more
 * records and returns none
 * @throws {@link CanceledError} while iterating, if the signal was aborted
 */
export function sentPages<P extends SentPage<unknown>>(
  source: PageSource<P>,
  options: PageOptions,
): AsyncIterable<CountedPage<P>> {
  const read = readPageOptions(options, source);
  return { [Symbol.asyncIterator]: () => iterate(source, read) };
}

/**
 * Validates which pages of a listing are fetched.
 *
 * @throws {@link RequestError} if an option is invalid
 */
export function readPageOptions(options: PageOptions, source: Pick<PageSource<SentPage<unknown>>, "by" | "rowsOf">) {
  const { limit = Number.POSITIVE_INFINITY, signal } = options;
  if (limit !== Number.POSITIVE_INFINITY && (!Number.isSafeInteger(limit) || limit < 1)) {
    throw invalidValueError("limit", limit, "a whole number from 1");
  }
  const { pageSize: asked = defaultSize(source) } = options;
  const size = asked === undefined ? undefined : pageSize(asked, "pageSize", source.by);
  const after = options.after === undefined ? undefined : cursor(options.after, "after");
  return { pageSize: size, after, limit, signal };
}

/** The default size of pages; undefined if the server chooses it. */
function defaultSize({ by, rowsOf }: Pick<PageSource<SentPage<unknown>>, "by" | "rowsOf">): number | undefined {
  if (by === "tokens") {
    return undefined;
  }
  return rowsOf ? MAX_PAGE_SIZE : DEFAULT_PAGE_SIZE;
}

/** The size of the next page: not more than is needed, unless the server chooses it. */
function sizeOf(size: number | undefined, left: number): number | undefined {
  return size === undefined && left > DEFAULT_PAGE_SIZE ? undefined : Math.min(size ?? left, left);
}

async function* iterate<P extends SentPage<unknown>>(
  source: PageSource<P>,
  options: PageOptions & { readonly limit: number },
): AsyncGenerator<CountedPage<P>> {
  const { signal } = options;
  const abort = linkedController(signal);
  const asked = new Set<string>();
  const checkProgress = progressCheck(source);
  const checkRows = rowsCheck(source, options);
  let left = options.limit;

  async function fetchAfter(page: P | undefined): Promise<P> {
    throwIfAborted(signal);
    const after = page === undefined ? options.after : endOf(page, source);
    const digest = createHash("sha256")
      .update(after ?? "")
      .digest("base64"); // The node determines the length of its cursors.
    if (asked.has(digest)) {
      throw brokenListing(source.server, `repeated the cursor ${JSON.stringify(after?.slice(0, 200))}`);
    }
    asked.add(digest);
    // A node that counts rows would end a page of the limit's size before it has as many records.
    const first = source.rowsOf ? options.pageSize : sizeOf(options.pageSize, left);
    const fetched = await source.fetchPage({ first, after }, abort.signal);
    if (fetched?.pageInfo === undefined) {
      throw brokenListing(source.server, "sent a response without a page");
    }
    return fetched;
  }

  try {
    let next: Promise<P> | undefined = fetchAfter(undefined);
    while (next !== undefined) {
      const page: P = await next;
      const edges = Math.min(page.edges.length, left);
      left -= edges;
      next = page.pageInfo?.hasNextPage === true && left > 0 ? fetchAfter(page) : undefined;
      next?.catch(() => undefined); // The error is thrown when the page is due.
      if (next !== undefined) {
        checkProgress(page);
      }
      yield { page, edges };
      if (left > 0) {
        checkRows(page);
      }
    }
  } finally {
    abort.abort(); // A page that was fetched ahead is not needed.
  }
}

/**
 * Returns a function that throws if pages repeat in a cycle under new cursors. It retains the records of one page at a
 * time, for four times as many pages as the previous one, so a cycle of any length completes while one is retained.
 */
function progressCheck<P extends SentPage<unknown>>({ idOf, server }: PageSource<P>): (page: P) => void {
  let kept = new Set<string>();
  let [pages, keepUntil, repeated, empty] = [0, 1, 0, 0];
  return ({ edges }) => {
    empty = edges.length === 0 ? empty + 1 : 0;
    if (empty > MAX_EMPTY_PAGES) {
      throw brokenListing(server, `sent ${MAX_EMPTY_PAGES} empty pages in a row`);
    }
    if (edges.length > 0 && edges.every((edge) => kept.has(idOf(edge)))) {
      repeated += 1;
      if (repeated > MAX_REPEATED_PAGES) {
        throw brokenListing(server, "repeated its pages under new cursors");
      }
    }
    pages += 1;
    if (pages === keepUntil) {
      kept = new Set(edges.map(idOf));
      keepUntil *= 4;
    }
  };
}

/**
 * Returns a function that throws if the node may have omitted records: a record took several rows, and the rows were not
 * all on one page.
 */
function rowsCheck<P extends SentPage<unknown>>(
  { rowsOf }: PageSource<P>,
  { pageSize: size = MAX_PAGE_SIZE, after }: PageOptions,
): (page: P) => void {
  let isWhole = after === undefined;
  let hasSeveral = false;
  return ({ edges, pageInfo }) => {
    if (rowsOf === undefined) {
      return;
    }
    const rows = edges.reduce((sum, edge) => sum + rowsOf(edge), 0);
    hasSeveral ||= rows > edges.length;
    isWhole &&= rows <= size && pageInfo?.hasNextPage !== true;
    if (hasSeveral && !isWhole) {
      throw new ProtocolError("the node may have omitted records: its pages count each record of a batch", {
        advice: `Request all records on one page: omit "after", and use a pageSize of ${MAX_PAGE_SIZE}, the default.`,
      });
    }
  };
}

/** The cursor after which the next page starts. */
function endOf<P extends SentPage<unknown>>({ edges, pageInfo }: P, { by, server }: PageSource<P>): string {
  if (edges.length === 0 && by === "cursors") {
    throw brokenListing(server, "reports more records, but the page is empty");
  }
  if (pageInfo === undefined || pageInfo.endCursor === "") {
    throw brokenListing(server, "reports more records, but sent no cursor");
  }
  return pageInfo.endCursor;
}

/**
 * Throws the error of an aborted signal.
 *
 * @throws {@link CanceledError} if it was aborted
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new CanceledError({ cause: signal.reason });
  }
}

export function brokenListing(server: Server, fault: string): ProtocolError {
  return new ProtocolError(`the ${server} ${fault}`, {
    advice: `The listing cannot be completed. Use another ${server}, and report this to the operator of the ${server}.`,
  });
}

/**
 * Returns how a listing of a data node counts the records of its pages. `ListGovernanceData` counts each proposal of a
 * batch, and then returns the batch as one record (v0.78.0, `Get` in `datanode/sqlstore/proposals.go`). A page with a
 * batch has fewer records than requested, and then claims that none follows, or omits one that does.
 */
export function rowsOf({ name, parent }: DescMethod): ((record: Message) => number) | undefined {
  if (`${parent.typeName}.${name}` !== "datanode.api.v2.TradingDataService.ListGovernanceData") {
    return undefined;
  }
  return (record) => {
    const proposals: unknown = Reflect.get(record, "proposals");
    return 1 + (Array.isArray(proposals) ? proposals.length : 0);
  };
}
