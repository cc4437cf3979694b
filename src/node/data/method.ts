import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Pagination, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Event } from "../world/block-event.js";
import type { RecordSource } from "./pagination.js";
import { type ListingOptions, type Page, type PageRequest, readPageOf, readPagination } from "./pagination.js";
import type { OpenStreams, Subject } from "./streams.js";

/** Some methods of the data service. */
export type DataMethods = Partial<ServiceImpl<typeof TradingDataService>>;

/** A request of a method that returns its records in pages. */
export interface Paginated {
  readonly pagination?: Pagination | undefined;
}

/**
 * The declaration of a method that lists records. Its functions are called in the order of this interface, which determines
 * the error of a request with several faults.
 */
export interface ListingMethod<Request, T, Response> {
  /** Validates what deployed nodes validate before the pagination. */
  readonly check?: (request: Request) => unknown;
  /** Parses the request's pagination; {@link readPagination} by default. */
  readonly page?: (request: Request) => PageRequest;
  /** The query's error, and the options of the listing. */
  readonly query: ListingOptions | ((request: Request) => ListingOptions);
  /** Returns the predicate of the request's filter; all records are listed by default. */
  readonly where?: (request: Request, query: ListingOptions) => (record: T) => boolean;
  /** Returns the source of the records, which determines their order. */
  readonly from: (request: Request, page: PageRequest) => RecordSource<T>;
  readonly answer: (page: Page<T>) => Response;
}

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

/** The declaration of a method that first sends a snapshot, if it has one, and then the records of each new block. */
export interface StreamMethod<Request, T, Message, Opening> {
  readonly subject: Subject;
  /** Returns the records that an event carries. */
  readonly records: (event: Event) => readonly T[];
  /** Returns the predicate of the request's filter; all records are sent by default. */
  readonly where?: (request: Request) => (record: T) => boolean;
  /** Returns the messages of the snapshot; no snapshot is sent by default. */
  readonly snapshot?: (matches: (record: T) => boolean, request: Request) => Iterable<Opening>;
  /** Returns the messages for the records of one block. There is at least one record. */
  readonly messages: (records: readonly T[]) => Iterable<Message>;
}

/** Returns a method of the data service that streams the records of each new block. */
export function stream<Request, T, Message, Opening = never>(
  streams: OpenStreams,
  { subject, records, where, snapshot, messages }: StreamMethod<Request, T, Message, Opening>,
): (request: Request, context: Pick<HandlerContext, "signal">) => AsyncGenerator<Message | Opening, void> {
  return async function* (request, { signal }) {
    const matches = where?.(request) ?? (() => true);
    const blocks = streams.watch({
      subject,
      signal,
      snapshot: () => (snapshot === undefined ? [] : [snapshot(matches, request)]),
      select: (blockEvents) => blockEvents.flatMap(({ event }) => records(event)).filter(matches),
      message: messages,
    });
    for await (const block of blocks) {
      yield* block;
    }
  };
}
