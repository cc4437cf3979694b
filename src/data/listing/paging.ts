import { createHash } from "node:crypto";
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  isMessage,
  type Message,
  type MessageShape,
  type Registry,
} from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { type CallErrorMapper, mapStreamErrors } from "../../base/errors/call-errors.js";
import { serverOf } from "../../base/errors/index.js";
import { assertKnownKeys, invalidTypeError } from "../../base/input/assert.js";
import { CALL_OPTIONS, type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import type { InitOf } from "../../base/input/init.js";
import { withSnapshots } from "../../base/input/snapshot.js";
import { isTransport } from "../../wire/config/config-schema.js";
import { jsonOf, writingJson } from "../../wire/json/message-json.js";
import { registryOf } from "../../wire/transport/layered.js";
import { throwingOurErrors } from "../../wire/transport/library-errors.js";
import { methodName } from "../../wire/transport/method.js";
import { failingOver } from "../../wire/transport/transport.js";
import { type PaginationRequest, readRequest } from "./pagination.js";
import {
  type Connection,
  connectionOf,
  type ListingMethod,
  type NodeOf,
  type PagingMethod,
  recordTypeOf,
  type SentPage,
} from "./paging-method.js";
import {
  brokenListing,
  type CountedPage,
  type PageOptions,
  type PageSource,
  rowsOf,
  sentPages,
  throwIfAborted,
} from "./sent-pages.js";

/** How the pages of a method are read. Where they start, and their order, is in the request. */
export interface PagesOptions extends CallOptions, Pick<PageOptions, "pageSize"> {}

/** How the records of a method are read. */
export interface RecordsOptions extends PagesOptions, Pick<PageOptions, "limit"> {}

/** The names of {@link PagesOptions}, and those of {@link RecordsOptions}. */
const PAGES_OPTIONS = { ...CALL_OPTIONS, pageSize: true } as const;
export const RECORDS_OPTIONS = { ...PAGES_OPTIONS, limit: true } as const;

/** The pages and records of any paged method: of these definitions, or of your own. */
export interface Paging {
  /**
   * Iterates over the pages of a method. Each is fetched while the previous one is consumed.
   *
   * The request's `pagination` may contain the cursor after which to start (`after`), the order (`newestFirst`), and the size
   * of a page (`first`), which `pageSize` overrides.
   *
   * @param method the method's descriptor, such as `TradingDataService.method.listOrders`
   * @param request the request, without `last` and `before` in its `pagination`: pages are read forwards
   * @param options the size of a page in records (1 to 5000, 1000 by default), request headers, a signal
   * @returns the answers as the node sent them, one for each page; nothing is sent before they are requested
   * @throws {@link RequestError} immediately, if the method does not page, or the pagination or an option is invalid
   * @throws {@link ProtocolError} while iterating, if the node repeats a cursor, or repeats pages under new cursors, or
   *   promises more records and gives none
   * @throws {@link NodeError}, {@link ConnectionError} and {@link CanceledError} while iterating, as any call does
   *
   * @example
   * import { TradingDataService } from "tradewire/api";
   *
   * const { getStake } = TradingDataService.method;
   * for await (const { stakeLinkings } of client.pages(getStake, { partyId })) console.log(stakeLinkings?.edges.length);
   */
  pages<M extends DescMethodUnary>(
    method: PagingMethod<M>,
    request?: InitOf<M["input"]>,
    options?: PagesOptions,
  ): AsyncIterable<MessageShape<M["output"]>>;
  /**
   * Iterates over the records of all pages of a method, as `pages` does.
   *
   * @param method the method's descriptor, such as `TradingDataService.method.listOrders`
   * @param request the request, as for `pages`
   * @param options as for `pages`, and the maximum number of records (`limit`)
   * @returns the records, each with its cursor; nothing is sent before they are requested
   * @throws as `pages` does; `ProtocolError` also if the node gives a record without a cursor or content
   *
   * @example
   * import { TradingDataService } from "tradewire/api";
   *
   * const { listOrders } = TradingDataService.method;
   * const request = { filter: { partyIds: [party] } };
   * for await (const { node } of client.records(listOrders, request, { limit: 100 })) console.log(node.id, node.price);
   */
  records<M extends DescMethodUnary>(
    method: ListingMethod<M>,
    request?: InitOf<M["input"]>,
    options?: RecordsOptions,
  ): AsyncIterable<ListedRecord<NodeOf<M>>>;
}

/**
 * Iterates over the pages of a method of any API, over any transport, as {@link Paging.pages} does.
 *
 * A method has pages if it follows the network's conventions, or [AIP-158](https://google.aip.dev/158): `page_size` and
 * `page_token` in the request, and `next_page_token` in the response. In the second case, the request's `pageToken` says where
 * to start, the server may send fewer records than `pageSize`, and by default it chooses the size.
 *
 * @param transport a Connect transport, such as one of `tradewire/transport`, or `client.transport`
 * @param method the method's descriptor
 * @param request the request
 * @param options as for `client.pages`
 * @returns the responses, one for each page; nothing is sent before they are requested
 * @throws as `client.pages` does; {@link ProtocolError} also while iterating, after 1000 empty pages in a row
 *
 * @example
 * const { listBooks } = LibraryService.method;
 * for await (const { books, totalSize } of pages(client.transport, listBooks, { parent: "shelves/1" })) {
 *   console.log(books.length, totalSize);
 * }
 */
export function pages<M extends DescMethodUnary>(
  transport: Transport,
  method: PagingMethod<M>,
  request?: InitOf<M["input"]>,
  options?: PagesOptions,
): AsyncIterable<MessageShape<M["output"]>> {
  return pagingOver(transport).pages(method, request, options);
}

/**
 * Iterates over the records of all pages of a method of any API, over any transport. The records of a response are those of
 * its connection or, by [AIP-158](https://google.aip.dev/158), those of its only list of messages, or else of its first.
 *
 * @param transport as for {@link pages}
 * @param method the method's descriptor
 * @param request the request, as for {@link pages}
 * @param options as for {@link pages}, and the maximum number of records (`limit`)
 * @returns the records, each with its cursor; nothing is sent before they are requested
 * @throws as {@link pages} does; {@link ProtocolError} also if the server gives a record without a cursor or content
 *
 * @example
 * const { listBooks } = LibraryService.method;
 * for await (const { node } of records(client.transport, listBooks, { parent: "shelves/1" }, { limit: 100 })) {
 *   console.log(node.title);
 * }
 */
export function records<M extends DescMethodUnary>(
  transport: Transport,
  method: ListingMethod<M>,
  request?: InitOf<M["input"]>,
  options?: RecordsOptions,
): AsyncIterable<ListedRecord<NodeOf<M>>> {
  return pagingOver(transport).records(method, request, options);
}

function pagingOver(transport: Transport): Paging {
  if (!isTransport(transport)) {
    throw invalidTypeError("transport", transport, "a Connect transport, such as client.transport");
  }
  const failing = failingOver({ name: "transport", url: "transport" });
  return withSnapshots(createPaging(throwingOurErrors(transport, failing), failing, () => undefined));
}

/** Lists the records of a method with custom rules. */
export type ListRecords = <M extends DescMethodUnary, N extends NodeOf<M>>(
  method: M,
  request: InitOf<M["input"]> | undefined,
  options: ListOptions<ListedRecord<N>>,
  rules: RecordRules<NodeOf<M>, N>,
) => AsyncIterable<ListedRecord<N>>;

/** Throws a {@link RequestError} if a node does not return the pages of a method in the requested order. */
export type RequireOrder = (method: DescMethod, pagination: PaginationRequest) => void;

/** A page of a method, and the answer that held it. */
interface AnswerPage<R, N> extends SentPage<N> {
  readonly answer: R;
}

export function createPaging(
  transport: Transport,
  failing: CallErrorMapper,
  requireOrder: RequireOrder,
): Paging & { readonly listRecords: ListRecords } {
  const registry = registryOf(transport);
  function answers<M extends DescMethodUnary, N extends NodeOf<M>>(
    method: M,
    init: InitOf<M["input"]> | undefined,
    { pageSize, limit, signal, headers, timeoutMs }: RecordsOptions,
    { isWhole, idOf }: RecordRules<NodeOf<M>, N>,
  ): AsyncIterable<CountedPage<AnswerPage<MessageShape<M["output"]>, NodeOf<M>>>> {
    validateCallOptions({ signal, headers, timeoutMs });
    const connection = connectionOf(method);
    const { by, node } = connection;
    const rows = rowsOf(method);
    const { first, after, newestFirst, pageRequest } = readRequest(method.input, init, by);
    requireOrder(method, { newestFirst });
    const isAnswer = (value: Message): value is MessageShape<M["output"]> => isMessage(value, method.output);
    const isPage = (page: SentPage<Message>): page is SentPage<NodeOf<M>> =>
      page.edges.every((edge) => edge.node === undefined || (node !== undefined && isMessage(edge.node, node)));
    return sentPages(
      {
        by,
        server: serverOf(methodName(method)),
        async fetchPage(page, callSignal) {
          const request = pageRequest(page);
          const { message: answer } = await transport.unary(method, callSignal, timeoutMs, headers, request, undefined);
          const sent = pageIn(answer, connection, page.after);
          return isAnswer(answer) && sent !== undefined && isPage(sent)
            ? { answer, edges: sent.edges, pageInfo: sent.pageInfo }
            : undefined;
        },
        idOf: ({ cursor, node }) => (node !== undefined && isWhole(node) ? idOf(node) : cursor),
        ...(rows && { rowsOf: ({ node }) => (node === undefined ? 1 : rows(node)) }),
      },
      { pageSize: pageSize ?? first, after, limit, signal },
    );
  }

  const listRecords: ListRecords = (method, request, options, rules) => {
    const pages = answers(method, request, options, rules);
    const { by } = connectionOf(method);
    const make = recordMaker(recordTypeOf(method), registry);
    const listed = {
      [Symbol.asyncIterator]: () =>
        recordsOf(pages, { ...rules, by, server: serverOf(methodName(method)) }, options, make),
    };
    return mapStreamErrors(listed, failing(method, options.signal));
  };

  return {
    pages<M extends DescMethodUnary>(method: M, request: InitOf<M["input"]> | undefined, options: PagesOptions = {}) {
      assertKnownKeys("options", options, PAGES_OPTIONS);
      const pages = answers<M, NodeOf<M>>(method, request, options, anyRecord(method));
      const write = writingJson(method.output, registry);
      const sent = {
        async *[Symbol.asyncIterator]() {
          for await (const { page } of pages) {
            yield write(page.answer);
          }
        },
      };
      return mapStreamErrors(sent, failing(method, options.signal));
    },

    records<M extends DescMethodUnary>(
      method: M,
      request: InitOf<M["input"]> | undefined,
      options: RecordsOptions = {},
    ) {
      assertKnownKeys("options", options, RECORDS_OPTIONS);
      return listRecords<M, NodeOf<M>>(method, request, options, anyRecord(method));
    },

    listRecords,
  };
}

/** The rules for records of a known type without an identifier: they are identified by their content. */
function anyRecord<M extends DescMethodUnary>(method: M): RecordRules<NodeOf<M>, NodeOf<M>> {
  const { node: desc } = connectionOf(method);
  return {
    isWhole: (node): node is NodeOf<M> => node.$typeName === desc?.typeName,
    idOf: (node) => createHash("sha256").update(JSON.stringify(node, inJson)).digest("base64"),
  };
}

/** Converts a value to one that JSON can represent. The text only identifies a record, and is cheaper than Protobuf. */
function inJson(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** Returns the page in a response. The records of a page by tokens have the token of the page as their cursor. */
function pageIn(answer: Message, { by, field }: Connection, token = ""): SentPage<Message> | undefined {
  const value: unknown = Reflect.get(answer, field.localName);
  if (by === "cursors") {
    return isConnection(value, field) ? value : undefined;
  }
  const endCursor: unknown = Reflect.get(answer, "nextPageToken");
  if (!Array.isArray(value) || typeof endCursor !== "string") {
    return undefined;
  }
  const edges = value.map((node: unknown) => ({ cursor: token, node: isMessage(node) ? node : undefined }));
  return { edges, pageInfo: { hasNextPage: endCursor !== "", endCursor } };
}

function isConnection(value: unknown, { message }: DescField): value is SentPage<Message> {
  return message !== undefined && isMessage(value, message);
}

/** Options of a listing. */
export interface ListOptions<R> extends PageOptions {
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
  readonly onDuplicate?: ((record: R) => void) | undefined;
}

/** A record of a listing. `JSON.stringify` writes it, and a page, as Protobuf's JSON, with enum values by their names. */
export interface ListedRecord<N> {
  /**
   * Its position: a listing with this as `after` starts after the record. For methods with page tokens, it is the token of
   * the record's page, with which a listing starts that has it as `pageToken`; that of the first page is empty.
   */
  readonly cursor: string;
  readonly node: N;
}

type ListingRules<M, N extends M> = RecordRules<M, N> & Pick<PageSource<SentPage<M>>, "by" | "server">;

/** What a record of a listing is. */
interface RecordRules<M, N extends M> {
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
async function* recordsOf<M, N extends M>(
  pages: AsyncIterable<CountedPage<SentPage<M>>>,
  rules: ListingRules<M, N>,
  { signal, onDuplicate }: Pick<ListOptions<ListedRecord<N>>, "signal" | "onDuplicate">,
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
  { isWhole, by, server }: ListingRules<M, N>,
  { cursor, node }: SentPage<M>["edges"][number],
  make: (cursor: string, node: N) => ListedRecord<N>,
): ListedRecord<N> {
  if (cursor === "" && by === "cursors") {
    throw brokenListing(server, "sent a record without a cursor");
  }
  if (node === undefined || !isWhole(node)) {
    throw brokenListing(server, `sent a cursor without a record, ${JSON.stringify(cursor.slice(0, 200))}`);
  }
  return make(cursor, node);
}

/** Returns a function that creates records which `JSON.stringify` can write. */
function recordMaker(
  desc: DescMessage,
  registry: Registry | undefined,
): <N extends Message>(cursor: string, node: N) => ListedRecord<N> {
  class Listed<N extends Message> implements ListedRecord<N> {
    constructor(
      readonly cursor: string,
      readonly node: N,
    ) {}

    toJSON() {
      return { cursor: this.cursor, node: jsonOf(desc, this.node, registry) };
    }
  }
  return (cursor, node) => new Listed(cursor, node);
}
