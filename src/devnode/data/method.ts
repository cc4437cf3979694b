import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Pagination, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Event } from "../world/event.js";
import type { Source } from "./listing.js";
import type { Streams, Subject } from "./observe.js";
import { type Page, type PageOptions, type PageRequest, readPageOf, readPagination } from "./page.js";

/** Methods of the data service. */
export type DataMethods = Partial<ServiceImpl<typeof TradingDataService>>;

/** A request for a page of records. */
export interface Paginated {
  readonly pagination?: Pagination | undefined;
}

/**
 * A method that lists records. The members are called in the order in which they stand here, which decides the error of a
 * request that is wrong in several ways.
 */
export interface ListingMethod<Request, T, Response> {
  /** Checks what deployed nodes check before the pagination. */
  readonly check?: (request: Request) => unknown;
  /** Reads the page that is asked for; {@link readPagination} by default. */
  readonly page?: (request: Request) => PageRequest;
  /** How the data node words the failure of the query, and how the listing differs from others. */
  readonly query: PageOptions | ((request: Request) => PageOptions);
  /** Makes the condition of the request's filter; all records are listed by default. */
  readonly where?: (request: Request, query: PageOptions) => (record: T) => boolean;
  /** Chooses the records, and their order. */
  readonly from: (request: Request, page: PageRequest) => Source<T>;
  /** Makes the response. */
  readonly answer: (page: Page<T>) => Response;
}

/**
 * Makes a method of the data service that lists records.
 *
 * @param method what it lists
 * @returns the method
 */
export function listing<Request extends Paginated, T, Response>(
  method: ListingMethod<Request, T, Response>,
): (request: Request) => Promise<Response> {
  const { check, page: pageOf = ({ pagination }) => readPagination(pagination), from, where, answer } = method;
  return async (request) => {
    check?.(request);
    const page = pageOf(request);
    const query = typeof method.query === "function" ? method.query(request) : method.query;
    const matches = where?.(request, query) ?? (() => true);
    return answer(readPageOf(from(request, page)(matches), page, query));
  };
}

/** A method that first sends a snapshot, if it has one, and then the records of each new block. */
export interface StreamMethod<Request, T, Message, Opening> {
  readonly subject: Subject;
  /** The records of an event. */
  readonly records: (event: Event) => readonly T[];
  /** The condition of the request's filter; all records are sent by default. */
  readonly where?: (request: Request) => (record: T) => boolean;
  /** Makes the messages of the snapshot; there is none by default. */
  readonly snapshot?: (matches: (record: T) => boolean) => Iterable<Opening>;
  /** Makes the messages of a block's records, of which there is at least one. */
  readonly messages: (records: readonly T[]) => Iterable<Message>;
}

/**
 * Makes a method of the data service that streams the records of each new block.
 *
 * @param streams keeps streams open
 * @param method what it streams
 * @returns the method
 */
export function stream<Request, T, Message, Opening = never>(
  streams: Streams,
  { subject, records, where, snapshot, messages }: StreamMethod<Request, T, Message, Opening>,
): (request: Request, context: Pick<HandlerContext, "signal">) => AsyncGenerator<Message | Opening, void> {
  return async function* (request, { signal }) {
    const matches = where?.(request) ?? (() => true);
    const blocks = streams.watch({
      subject,
      signal,
      snapshot: () => (snapshot === undefined ? [] : [snapshot(matches)]),
      select: (happenings) => happenings.flatMap(({ event }) => records(event)).filter(matches),
      message: messages,
    });
    for await (const block of blocks) {
      yield* block;
    }
  };
}
