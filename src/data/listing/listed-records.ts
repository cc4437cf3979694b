import { type DescMessage, isMessage, type Message } from "@bufbuild/protobuf";
import { messageToJson } from "../../wire/json/message-json.js";
import type { SentPage } from "./paging-method.js";
import { brokenListing, type CountedPage, type PageOptions, throwIfAborted } from "./sent-pages.js";

/** Options of a listing. */
export interface ListOptions<N> extends PageOptions {
  /**
   * Whether the newest records come first, as they do by default. Deployed nodes refuse `false` for stop orders; with the
   * profile `deployed` it is not sent for them.
   */
  readonly newestFirst?: boolean | undefined;
  /**
   * Called with each record that was listed before, which happens when pages shift while they are read. The record is
   * still listed again, since it may have changed. With this option the identifiers of all records are stored in
   * memory.
   */
  readonly onDuplicate?: ((record: ListedRecord<N>) => void) | undefined;
}

/** A record of a listing. `JSON.stringify` writes it, and a page, as Protobuf's JSON, with enum values by their names. */
export interface ListedRecord<N> {
  /** Its position: a listing with this as `after` starts after the record. */
  readonly cursor: string;
  readonly node: N;
}

/** How the records of a listing are validated and identified. */
export interface RecordRules<M, N extends M> {
  /** Returns whether a record is complete. */
  isWhole(node: M): node is N;
  /** Identifies a record. */
  idOf(node: N): string;
}

/**
 * Extracts the records from pages.
 *
 * @throws {@link ProtocolError} while iterating, if the node returns a record without a cursor or content
 * @throws {@link CanceledError} while iterating, if the signal was aborted
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
    throw brokenListing("the node sent a record without a cursor");
  }
  if (node === undefined || !isWhole(node)) {
    throw brokenListing(`the node sent a cursor without a record, ${JSON.stringify(cursor.slice(0, 200))}`);
  }
  return make(cursor, node);
}

/** Makes `JSON.stringify` write a response as Protobuf's JSON. Without this, it fails on 64-bit integers. */
export function withJson<M extends Message>(desc: DescMessage, answer: M): M {
  return Object.defineProperty(answer, "toJSON", { value: () => jsonOf(desc, answer) });
}

/** Returns a function that creates records which `JSON.stringify` can write. */
export function recordMaker(desc: DescMessage): <N extends Message>(cursor: string, node: N) => ListedRecord<N> {
  class Listed<N extends Message> implements ListedRecord<N> {
    constructor(
      readonly cursor: string,
      readonly node: N,
    ) {}

    toJSON() {
      return { cursor: this.cursor, node: jsonOf(desc, this.node) };
    }
  }
  return (cursor, node) => new Listed(cursor, node);
}

function jsonOf(desc: DescMessage, message: Message): unknown {
  return isMessage(message, desc) ? messageToJson(desc, message) : message;
}
