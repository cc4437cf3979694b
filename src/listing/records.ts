import { CanceledError, ProtocolError, RequestError } from "../errors/index.js";
import { cursor, pageSize } from "./pagination.js";

/** How to go through a listing. */
export interface ListOptions<N> {
  /** Records to a page: 1 to 5000, 1000 by default. */
  readonly pageSize?: number | undefined;
  /** Whether the newest records come first; by default they do. Deployed nodes refuse `false` for stop orders. */
  readonly newestFirst?: boolean | undefined;
  /** The cursor of a record: the listing goes on after it. */
  readonly after?: string | undefined;
  /** How many records to give at most. */
  readonly limit?: number | undefined;
  /**
   * Told of each record that came before, because pages shifted while they were read. The record is given all the same: it may
   * have changed. To find them, the identifiers of all records are kept in memory.
   */
  readonly onDuplicate?: ((record: ListedRecord<N>) => void) | undefined;
  /** Gives up. */
  readonly signal?: AbortSignal | undefined;
}

/** A record of a listing. */
export interface ListedRecord<N> {
  /** Where it is: a listing with this as `after` goes on behind it. */
  readonly cursor: string;
  readonly node: N;
}

/** A page as a node sent it. */
export interface SentPage<M> {
  readonly edges: readonly { readonly cursor: string; readonly node?: M | undefined }[];
  readonly pageInfo?: { readonly hasNextPage: boolean; readonly endCursor: string } | undefined;
}

/** Where records come from. */
export interface RecordSource<M, N extends M> {
  /** Fetch the page of this size after a cursor; nothing where the response holds none. */
  fetchPage(page: { first: number; after: string | undefined }, signal: AbortSignal): Promise<SentPage<M> | undefined>;
  /** Whether a record holds all that it must. */
  isWhole(node: M): node is N;
  /** What tells a record from others. */
  idOf(node: N): string;
}

const DEFAULT_PAGE_SIZE = 1000;

/**
 * The records of all pages of a listing, one after another; a page is fetched while the one before it is being consumed.
 * Nothing is sent before the records are asked for, and each iteration begins anew.
 *
 * @throws {@link RequestError} at once, where an option cannot be right
 * @throws {@link ProtocolError} while iterating, after the records that were whole, where the node repeats a cursor, says that
 * there is more and gives none, or gives a record without a cursor or content
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
      const edges = page.edges.slice(0, left);
      left -= edges.length;
      next = page.pageInfo?.hasNextPage === true && left > 0 ? fetchAfter(page) : undefined;
      next?.catch(() => undefined); // It is told when its turn comes.
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

/** The cursor after which there is more. */
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
