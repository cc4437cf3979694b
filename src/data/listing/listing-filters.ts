import type { MessageInitShape } from "@bufbuild/protobuf";
import type { StopOrderFilterSchema } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import {
  type StopOrder_ExpiryStrategy,
  StopOrder_ExpiryStrategySchema,
  type StopOrder_Status,
  StopOrder_StatusSchema,
} from "../../../gen/client/vega/vega_pb.js";
import { RequestError } from "../../base/errors/index.js";
import { assertKnownKeys, assertOneOf, invalidValueError } from "../../base/input/assert.js";
import { parseEnumValue } from "../../base/input/message-init.js";

/** The name of an enum value, in full or without its prefix. */
export type EnumName<E extends object, P extends string> = (keyof E & string) | `${P}_${keyof E & string}`;

/** The name of a status, in full (`STATUS_PENDING`) or without its prefix (`PENDING`). */
export type StatusName = EnumName<typeof StopOrder_Status, "STATUS">;
/** The name of an expiry strategy, in full (`EXPIRY_STRATEGY_SUBMIT`) or without its prefix (`SUBMIT`). */
export type ExpiryStrategyName = EnumName<typeof StopOrder_ExpiryStrategy, "EXPIRY_STRATEGY">;

/**
 * Which stop orders to list. Nodes combine filters of different kinds with "and", those of one kind
 * with "or". A filter that is omitted, or is an empty list, matches all stop orders.
 */
export interface StopOrderFilter {
  /** Only stop orders with one of these statuses: enum members or names. */
  readonly statuses?: Iterable<StopOrder_Status | StatusName> | undefined;
  /**
   * Only stop orders with one of these expiry strategies: enum members or names. For nodes, a stop order that does not expire
   * has `EXPIRY_STRATEGY_UNSPECIFIED`.
   */
  readonly expiryStrategies?: Iterable<StopOrder_ExpiryStrategy | ExpiryStrategyName> | undefined;
  /**
   * Only stop orders of this period. Deployed nodes compare the time of the last change, and exclude the end.
   */
  readonly dateRange?: DateRange | undefined;
  /** Only stop orders submitted by one of these parties: public keys in hex. */
  readonly partyIds?: Iterable<string> | undefined;
  /** Only stop orders submitted to one of these markets: identifiers of 64 hex digits. */
  readonly marketIds?: Iterable<string> | undefined;
  /** Only live stop orders. */
  readonly liveOnly?: boolean | undefined;
}

/** The names of {@link StopOrderFilter}. */
const FILTERS = {
  statuses: true,
  expiryStrategies: true,
  dateRange: true,
  partyIds: true,
  marketIds: true,
  liveOnly: true,
} as const;

/**
 * Validates a filter and converts it to the message of the interface. Each iterable is read once.
 *
 * @throws {@link RequestError} if an enum name or number is unknown, an identifier is empty, a time is invalid, or
 *   the date range is empty
 */
export function readStopOrderFilter(filter: StopOrderFilter): MessageInitShape<typeof StopOrderFilterSchema> {
  assertKnownKeys("filter", filter, FILTERS);
  const { statuses = [], expiryStrategies = [], partyIds = [], marketIds = [], dateRange, liveOnly } = filter;
  assertOneOf("liveOnly", liveOnly, [true, false]);
  return {
    statuses: listOf(statuses, "statuses").map((value, at) =>
      parseEnumValue(StopOrder_StatusSchema, value, `statuses[${at}]`),
    ),
    expiryStrategies: listOf(expiryStrategies, "expiryStrategies").map((value, at) =>
      parseEnumValue(StopOrder_ExpiryStrategySchema, value, `expiryStrategies[${at}]`),
    ),
    partyIds: listOf(partyIds, "partyIds").map((id) => identifier(id, "partyIds")),
    marketIds: listOf(marketIds, "marketIds").map((id) => identifier(id, "marketIds")),
    dateRange: dateRange === undefined ? undefined : readDateRange(dateRange),
    liveOnly,
  };
}

/** Copies a list. A string is an iterable of characters, but is never meant as one. */
export function listOf<T>(values: Iterable<T>, name: string): T[] {
  if (typeof values === "string") {
    throw invalidValueError(name, values, `an array, such as [${JSON.stringify(values)}]`);
  }
  if (typeof values !== "object" || values === null || !(Symbol.iterator in values)) {
    throw invalidValueError(name, values, "an array");
  }
  return [...values];
}

function identifier(id: string, name: string): string {
  if (typeof id !== "string" || id === "") {
    throw new RequestError(`contains the invalid ID ${JSON.stringify(id)}`, {
      option: name,
      advice: "Use IDs exactly as the node returns them, or omit the filter.",
    });
  }
  return id;
}

/** A period of time. */
export interface DateRange {
  /** Start, inclusive: Unix nanoseconds, or a date. */
  readonly startTimestamp?: bigint | Date | undefined;
  /** End: Unix nanoseconds, or a date. Deployed nodes exclude it. */
  readonly endTimestamp?: bigint | Date | undefined;
}

/**
 * Validates a period of time.
 *
 * @throws {@link RequestError} if a time is invalid, or the period is empty
 */
export function readDateRange(range: DateRange) {
  assertKnownKeys("dateRange", range, { startTimestamp: true, endTimestamp: true });
  const { startTimestamp, endTimestamp } = range;
  return periodOf(
    startTimestamp === undefined ? undefined : nanoseconds(startTimestamp, "dateRange.startTimestamp"),
    endTimestamp === undefined ? undefined : nanoseconds(endTimestamp, "dateRange.endTimestamp"),
  );
}

/**
 * Validates a period of time as filters name it, and converts it to the field of requests.
 *
 * @throws {@link RequestError} if a time is invalid, or the period is empty
 */
export function readPeriod({
  since,
  until,
}: {
  readonly since?: bigint | Date | undefined;
  readonly until?: bigint | Date | undefined;
}) {
  const start = since === undefined ? undefined : nanoseconds(since, "since");
  const end = until === undefined ? undefined : nanoseconds(until, "until");
  return since === undefined && until === undefined ? {} : { dateRange: periodOf(start, end) };
}

function periodOf(start: bigint | undefined, end: bigint | undefined) {
  if (start !== undefined && end !== undefined && start >= end) {
    throw new RequestError(`the date range is empty: it starts at ${start} and ends at ${end}`, {
      advice: "Use a start before the end, in Unix nanoseconds or as dates.",
    });
  }
  return { startTimestamp: start, endTimestamp: end };
}

function nanoseconds(time: bigint | Date, name: string): bigint {
  const value =
    time instanceof Date ? (Number.isNaN(time.getTime()) ? undefined : BigInt(time.getTime()) * 1_000_000n) : time;
  if (typeof value !== "bigint" || BigInt.asIntN(64, value) !== value) {
    throw invalidValueError(name, time, "a Date, or Unix nanoseconds as a bigint of 64 bits");
  }
  return value;
}
