import { CanceledError, ProtocolError, RequestError } from "../errors/index.js";
import { cursor, pageSize } from "./pagination.js";

/** How to go through a listing. */
export interface ListOptions<N> {
  /** Records per page, 1 to 5000; 1000 by default. */
  readonly pageSize?: number | undefined;
  /** Whether the newest records come first, as they do by default. Deployed nodes refuse `false` for stop orders. */
  readonly newestFirst?: boolean | undefined;
  /** The cursor of a record: the listing starts after it. */
  readonly after?: string | undefined;
  /** The most records of the listing; all by default. */
  readonly limit?: number | undefined;
  /**
   * Called with each record that was listed before, which happens when pages shift while they are read. The record is
   * listed again all the same, as it may have changed. With this option the identifiers of all records are kept in
   * memory.
   */
  readonly onDuplicate?: ((record: ListedRecord<N>) => void) | undefined;
  /** Ends the listing. */
  readonly signal?: AbortSignal | undefined;
}

/** A record of a listing. */
export interface ListedRecord<N> {
  /** Its position: a listing with this as `after` starts behind it. */
  readonly cursor: string;
  readonly node: N;
}

/** A page as a node sent it. */
export interface SentPage<M> {
  readonly edges: readonly { readonly cursor: string; readonly node?: M | undefined }[];
  readonly pageInfo?: { readonly hasNextPage: boolean; readonly endCursor: string } | undefined;
}

/** The source of a listing's records. */
export interface RecordSource<M, N extends M> {
  /**
   * Fetch a page.
   *
   * @param page its size in records, and the cursor after which it starts
   * @param signal ends the call
   * @returns the page; `undefined` where the response holds none
   */
  fetchPage(page: { first: number; after: string | undefined }, signal: AbortSignal): Promise<SentPage<M> | undefined>;
  /**
   * Tell whether a record is complete.
   *
   * @param node the record
   * @returns whether it has all parts that it must have
   */
  isWhole(node: M): node is N;
  /**
   * Identify a record.
   *
   * @param node the record
   * @returns its identifier, unique in the listing
   */
  idOf(node: N): string;
}

const DEFAULT_PAGE_SIZE = 1000;
/** The most pages of a listing that hold nothing but records of an earlier one: pages shift, but not that often. */
const MAX_REPEATED_PAGES = 10;

/**
 * List the records of all pages. Each page is fetched while the one before it is consumed. Nothing is sent before the
 * records are asked for, and each iteration begins anew.
 *
 * @param source fetches the pages; its errors are thrown unchanged
 * @param options the size of a page, where to start and stop, a signal
 * @returns the records, each with its cursor
 * @throws {@link RequestError} at once, where an option is invalid
 * @throws {@link ProtocolError} while iterating, where the node repeats a cursor, or pages under new cursors, promises
 *   more records and gives none, or gives a record without a cursor or content
 * @throws {@link CanceledError} while iterating, where the signal was aborted
 */
export function listRecords<M, N extends M>(
  source: RecordSource<M, N>,
  options: ListOptions<N>,
): AsyncIterable<ListedRecord<N>> {
  const size = pageSize(options.pageSize ?? DEFAULT_PAGE_SIZE, "pageSize");
  const after = options.after === undefined ? undefined : cursor(options.after, "after");
  const { limit = Number.POSITIVE_INFINITY } = options;
  if (limit !== Number.POSITIVE_INFINITY && (!Number.isSafeInteger(limit) || limit < 1)) {
    throw new RequestError(`limit is ${String(limit)}, which is no number of records`, {
      advice: "Give a whole number from 1, or leave it out for all.",
    });
  }
  return { [Symbol.asyncIterator]: () => iterate(source, { ...options, pageSize: size, after, limit }) };
}

async function* iterate<M, N extends M>(
  source: RecordSource<M, N>,
  options: ListOptions<N> & { readonly pageSize: number; readonly limit: number },
): AsyncGenerator<ListedRecord<N>> {
  const { signal, onDuplicate } = options;
  const abort = new AbortController();
  const follow = () => abort.abort(signal?.reason);
  signal?.addEventListener("abort", follow, { once: true });
  const asked = new Set<string>();
  const seen = new Set<string>();
  const checkProgress = progressCheck(source);
  let left = options.limit;

  async function fetchAfter(page: SentPage<M> | undefined): Promise<SentPage<M>> {
    if (signal?.aborted === true) {
      throw new CanceledError({ cause: signal.reason });
    }
    const after = page === undefined ? options.after : endOf(page);
    if (after !== undefined && asked.has(after)) {
      throw broken(`the node repeats the cursor ${JSON.stringify(after.slice(0, 200))}`);
    }
    asked.add(after ?? "");
    const fetched = await source.fetchPage({ first: Math.min(options.pageSize, left), after }, abort.signal);
    if (fetched?.pageInfo === undefined) {
      throw broken("the response holds no page");
    }
    return fetched;
  }

  try {
    let next: Promise<SentPage<M>> | undefined = fetchAfter(undefined);
    while (next !== undefined) {
      const page: SentPage<M> = await next;
      checkProgress(page);
      const edges = page.edges.slice(0, left);
      left -= edges.length;
      next = page.pageInfo?.hasNextPage === true && left > 0 ? fetchAfter(page) : undefined;
      next?.catch(() => undefined); // The failure is thrown when the page's turn comes.
      for (const edge of edges) {
        if (signal?.aborted === true) {
          throw new CanceledError({ cause: signal.reason });
        }
        const record = wholeRecord(source, edge);
        if (onDuplicate !== undefined) {
          const id = source.idOf(record.node);
          if (seen.has(id)) {
            onDuplicate(record);
          }
          seen.add(id);
        }
        yield record;
      }
    }
  } finally {
    signal?.removeEventListener("abort", follow);
    abort.abort();
  }
}

/**
 * Make a function that fails where pages go round in a circle under cursors that change. It keeps the records of one
 * page at a time, for twice as many pages as the one before, so a circle of any length comes round while one is kept.
 */
function progressCheck<M, N extends M>({ isWhole, idOf }: RecordSource<M, N>): (page: SentPage<M>) => void {
  let kept = new Set<string>();
  let [pages, keepUntil, repeated] = [0, 1, 0];
  return ({ edges }) => {
    const ids = edges.map(({ cursor, node }) => (node !== undefined && isWhole(node) ? idOf(node) : cursor));
    if (ids.length > 0 && ids.every((id) => kept.has(id))) {
      repeated += 1;
      if (repeated > MAX_REPEATED_PAGES) {
        throw broken("the node repeats its pages under new cursors");
      }
    }
    pages += 1;
    if (pages === keepUntil) {
      kept = new Set(ids);
      keepUntil *= 2;
    }
  };
}

/** The cursor after which the next page starts. */
function endOf({ edges, pageInfo }: SentPage<unknown>): string {
  if (edges.length === 0) {
    throw broken("the node says that there are more records, but the page holds none");
  }
  if (pageInfo === undefined || pageInfo.endCursor === "") {
    throw broken("the node says that there are more records, but gives no cursor");
  }
  return pageInfo.endCursor;
}

function wholeRecord<M, N extends M>(
  { isWhole }: RecordSource<M, N>,
  { cursor, node }: SentPage<M>["edges"][number],
): ListedRecord<N> {
  if (cursor === "") {
    throw broken("the node gives a record without a cursor");
  }
  if (node === undefined || !isWhole(node)) {
    throw broken(`the node gives a cursor without a record, ${JSON.stringify(cursor.slice(0, 200))}`);
  }
  return { cursor, node };
}

function broken(summary: string): ProtocolError {
  return new ProtocolError(summary, {
    advice: "The listing cannot be gone through; try another node, and report it to who runs this one.",
  });
}
