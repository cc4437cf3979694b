import type { MessageInitShape } from "@bufbuild/protobuf";
import type { StopOrderFilterSchema } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import {
  type StopOrder_ExpiryStrategy,
  StopOrder_ExpiryStrategySchema,
  type StopOrder_Status,
  StopOrder_StatusSchema,
} from "../../gen/client/vega/vega_pb.js";
import { requireKnown, requireOneOf, wrong } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import { enumNumber } from "../given/enum-number.js";
import { type DateRange, readDateRange } from "./date-range.js";

type Names<E extends object, P extends string> = (keyof E & string) | `${P}_${keyof E & string}`;

/** The name of a status, in full (`STATUS_PENDING`) or without its prefix (`PENDING`). */
export type StatusName = Names<typeof StopOrder_Status, "STATUS">;
/** The name of an expiry strategy, in full (`EXPIRY_STRATEGY_SUBMIT`) or without its prefix (`SUBMIT`). */
export type ExpiryStrategyName = Names<typeof StopOrder_ExpiryStrategy, "EXPIRY_STRATEGY">;

/**
 * Which stop orders to list (specification, 4.4). Nodes join filters of different kinds by "and", those of one kind by
 * "or". A filter that is left out, or is an empty list, lets all stop orders through.
 */
export interface StopOrderFilter {
  /** Only those with one of these statuses: enum members or names. */
  readonly statuses?: Iterable<StopOrder_Status | StatusName> | undefined;
  /**
   * Only those with one of these expiry strategies: enum members or names. For nodes, a stop order that does not expire
   * has `EXPIRY_STRATEGY_UNSPECIFIED`.
   */
  readonly expiryStrategies?: Iterable<StopOrder_ExpiryStrategy | ExpiryStrategyName> | undefined;
  /**
   * Only those of this span of time. Deployed nodes compare the time of the last change, and exclude the end itself.
   */
  readonly dateRange?: DateRange | undefined;
  /** Only those submitted by one of these parties: public keys in hex. */
  readonly partyIds?: Iterable<string> | undefined;
  /** Only those submitted to one of these markets: identifiers of 64 hex digits. */
  readonly marketIds?: Iterable<string> | undefined;
  /** Only those that are live. */
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
 * Check a filter, and turn it into the message of the interface (specification, 4.4). Each iterable is read once.
 *
 * @param filter times are Unix nanoseconds or dates; enum values are members or names
 * @returns the fields of the message
 * @throws {@link RequestError} where an enum name or number is unknown, an identifier is empty, a time is invalid, or
 *   the date range is empty
 */
export function readStopOrderFilter(filter: StopOrderFilter): MessageInitShape<typeof StopOrderFilterSchema> {
  requireKnown("filter", filter, FILTERS);
  const { statuses = [], expiryStrategies = [], partyIds = [], marketIds = [], dateRange, liveOnly } = filter;
  requireOneOf("liveOnly", liveOnly, [true, false]);
  return {
    statuses: listOf(statuses, "statuses").map((value, at) =>
      enumNumber(StopOrder_StatusSchema, value, `statuses[${at}]`),
    ),
    expiryStrategies: listOf(expiryStrategies, "expiryStrategies").map((value, at) =>
      enumNumber(StopOrder_ExpiryStrategySchema, value, `expiryStrategies[${at}]`),
    ),
    partyIds: listOf(partyIds, "partyIds").map((id) => identifier(id, "partyIds")),
    marketIds: listOf(marketIds, "marketIds").map((id) => identifier(id, "marketIds")),
    dateRange: dateRange === undefined ? undefined : readDateRange(dateRange),
    liveOnly,
  };
}

/** Copy a list. A text is an iterable too, of its characters, but it is never meant as one. */
function listOf<T>(values: Iterable<T>, name: string): T[] {
  if (typeof values === "string") {
    throw new RequestError(`${name} is a text, not a list`, {
      advice: `Give a list, such as [${JSON.stringify(values)}].`,
    });
  }
  if (typeof values !== "object" || values === null || !(Symbol.iterator in values)) {
    throw wrong(name, values, "Give a list, or leave it out.");
  }
  return [...values];
}

function identifier(id: string, name: string): string {
  if (typeof id !== "string" || id === "") {
    throw new RequestError(`${name} holds ${JSON.stringify(id)}, which is no identifier`, {
      advice: "Give identifiers as the node gives them, or leave the filter out.",
    });
  }
  return id;
}
