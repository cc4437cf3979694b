import type { SentPage } from "./connection.js";
import { brokenListing, type CountedPage, type PageOptions, throwIfAborted } from "./sent-pages.js";

/** How to go through a listing. */
export interface ListOptions<N> extends PageOptions {
  /**
   * Whether the newest records come first, as they do by default. Deployed nodes refuse `false` for stop orders; with the
   * profile `deployed` it is not sent for them.
   */
  readonly newestFirst?: boolean | undefined;
  /**
   * Called with each record that was listed before, which happens when pages shift while they are read. The record is
   * listed again all the same, as it may have changed. With this option the identifiers of all records are kept in
   * memory.
   */
  readonly onDuplicate?: ((record: ListedRecord<N>) => void) | undefined;
}

/** A record of a listing. `JSON.stringify` writes it, and a page, as Protobuf's JSON, with enum values by their names. */
export interface ListedRecord<N> {
  /** Its position: a listing with this as `after` starts behind it. */
  readonly cursor: string;
  readonly node: N;
}

/** What the records of a listing are held to. */
export interface RecordRules<M, N extends M> {
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

/**
 * Take the records out of pages.
 *
 * @param pages the pages; their errors are thrown unchanged
 * @param rules what the records are held to
 * @param options what is told of records that come again, and a signal
 * @param make makes a record of a cursor and what it stands at
 * @returns the records, each with its cursor
 * @throws {@link ProtocolError} while iterating, where the node gives a record without a cursor or content
 * @throws {@link CanceledError} while iterating, where the signal was aborted
 */
export async function* recordsOf<M, N extends M>(
  pages: AsyncIterable<CountedPage<SentPage<M>>>,
  rules: RecordRules<M, N>,
  { signal, onDuplicate }: Pick<ListOptions<N>, "signal" | "onDuplicate">,
  make: (cursor: string, node: N) => ListedRecord<N>,
): AsyncGenerator<ListedRecord<N>> {
  const seen = new Set<string>();
  for await (const { page, edges } of pages) {
    for (const edge of page.edges.slice(0, edges)) {
      throwIfAborted(signal);
      const record = wholeRecord(rules, edge, make);
      if (onDuplicate !== undefined) {
        const id = rules.idOf(record.node);
        if (seen.has(id)) {
          onDuplicate(record);
        }
        seen.add(id);
      }
      yield record;
    }
  }
}

function wholeRecord<M, N extends M>(
  { isWhole }: RecordRules<M, N>,
  { cursor, node }: SentPage<M>["edges"][number],
  make: (cursor: string, node: N) => ListedRecord<N>,
): ListedRecord<N> {
  if (cursor === "") {
    throw brokenListing("the node gives a record without a cursor");
  }
  if (node === undefined || !isWhole(node)) {
    throw brokenListing(`the node gives a cursor without a record, ${JSON.stringify(cursor.slice(0, 200))}`);
  }
  return make(cursor, node);
}
