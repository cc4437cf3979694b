import { createHash } from "node:crypto";
import {
  type DescField,
  type DescMethod,
  type DescMethodUnary,
  isMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { type CallErrorMapper, mapStreamErrors } from "../../base/errors/call-errors.js";
import { assertKnownKeys } from "../../base/input/assert.js";
import { CALL_OPTIONS, type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import {
  type ListedRecord,
  type ListOptions,
  type RecordRules,
  recordMaker,
  recordsOf,
  withJson,
} from "./listed-records.js";
import { type PaginationRequest, readRequest } from "./pagination.js";
import { connectionOf, type NodeOf, type PagingMethod, type SentPage } from "./paging-method.js";
import { type CountedPage, type PageOptions, rowsOf, sentPages } from "./sent-pages.js";

/** How the pages of a method are read. Their start and order are in the request's `pagination`. */
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
    request?: MessageInitShape<M["input"]>,
    options?: PagesOptions,
  ): AsyncIterable<MessageShape<M["output"]>>;
  /**
   * Iterates over the records of all pages of a method, as `pages` does.
   *
   * @param method the method's descriptor, such as `TradingDataService.method.listOrders`
   * @param request the request, as for `pages`
   * @param options as for `pages`, and the maximum number of records (`limit`)
   * @returns the records, each with its cursor; nothing is sent before they are requested
   * @throws as `pages` does; {@link ProtocolError} also if the node gives a record without a cursor or content
   *
   * @example
   * import { TradingDataService } from "tradewire/api";
   *
   * const { listOrders } = TradingDataService.method;
   * const request = { filter: { partyIds: [party] } };
   * for await (const { node } of client.records(listOrders, request, { limit: 100 })) console.log(node.id, node.price);
   */
  records<M extends DescMethodUnary>(
    method: PagingMethod<M>,
    request?: MessageInitShape<M["input"]>,
    options?: RecordsOptions,
  ): AsyncIterable<ListedRecord<NodeOf<M>>>;
}

/** Lists the records of a method with custom rules. */
export type ListRecords = <M extends DescMethodUnary, N extends NodeOf<M>>(
  method: M,
  request: MessageInitShape<M["input"]> | undefined,
  options: ListOptions<N>,
  rules: RecordRules<NodeOf<M>, N>,
) => AsyncIterable<ListedRecord<N>>;

/** Throws a {@link RequestError} if a node does not return the pages of a method in the requested order. */
export type RequireOrder = (method: DescMethod, pagination: PaginationRequest) => void;

/** A page of a method, and the answer that held it. */
interface AnswerPage<R, N> extends SentPage<N> {
  readonly answer: R;
}

/** Creates the functions that page through methods. */
export function createPaging(
  unary: Transport["unary"],
  failing: CallErrorMapper,
  requireOrder: RequireOrder,
): Paging & { readonly listRecords: ListRecords } {
  function answers<M extends DescMethodUnary, N extends NodeOf<M>>(
    method: M,
    init: MessageInitShape<M["input"]> | undefined,
    { pageSize, limit, signal, headers, timeoutMs }: RecordsOptions,
    { isWhole, idOf }: RecordRules<NodeOf<M>, N>,
  ): AsyncIterable<CountedPage<AnswerPage<MessageShape<M["output"]>, NodeOf<M>>>> {
    validateCallOptions({ signal, headers, timeoutMs });
    const { field, node } = connectionOf(method);
    const rows = rowsOf(method);
    const { first, after, newestFirst, pageRequest } = readRequest(method.input, init);
    requireOrder(method, { newestFirst });
    const isAnswer = (value: Message): value is MessageShape<M["output"]> => isMessage(value, method.output);
    const isPage = (page: SentPage<Message>): page is SentPage<NodeOf<M>> =>
      page.edges.every((edge) => edge.node === undefined || isMessage(edge.node, node));
    return sentPages(
      {
        async fetchPage(page, callSignal) {
          const request = pageRequest(page);
          const { message: answer } = await unary(method, callSignal, timeoutMs, headers, request, undefined);
          const connection: unknown = Reflect.get(answer, field.localName);
          if (!isAnswer(answer) || !isConnection(connection, field) || !isPage(connection)) {
            return undefined;
          }
          return { answer, edges: connection.edges, pageInfo: connection.pageInfo };
        },
        idOf: ({ cursor, node }) => (node !== undefined && isWhole(node) ? idOf(node) : cursor),
        ...(rows && { rowsOf: ({ node }) => (node === undefined ? 1 : rows(node)) }),
      },
      { pageSize: pageSize ?? first, after, limit, signal },
    );
  }

  const listRecords: ListRecords = (method, request, options, rules) => {
    const pages = answers(method, request, options, rules);
    const make = recordMaker(connectionOf(method).node);
    const records = { [Symbol.asyncIterator]: () => recordsOf(pages, rules, options, make) };
    return mapStreamErrors(records, failing(method, options.signal));
  };

  return {
    pages(method, request, options = {}) {
      assertKnownKeys("options", options, PAGES_OPTIONS);
      const pages = answers(method, request, options, anyRecord(method));
      const sent = {
        async *[Symbol.asyncIterator]() {
          for await (const { page } of pages) {
            yield withJson(method.output, page.answer);
          }
        },
      };
      return mapStreamErrors(sent, failing(method, options.signal));
    },

    records<M extends DescMethodUnary>(
      method: M,
      request: MessageInitShape<M["input"]> | undefined,
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
    isWhole: (node): node is NodeOf<M> => node.$typeName === desc.typeName,
    idOf: (node) => createHash("sha256").update(JSON.stringify(node, inJson)).digest("base64"),
  };
}

/** Converts a value to one that JSON can represent. The text only identifies a record, and is cheaper than Protobuf. */
function inJson(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

function isConnection(value: unknown, { message }: DescField): value is SentPage<Message> {
  return message !== undefined && isMessage(value, message);
}
