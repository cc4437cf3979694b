import type { DateRange } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { invalid } from "../invalid.js";

/** A key of the network's: that of a market, an order, a party. */
const IDENTIFIER = /^[0-9a-f]{64}$/i;

/**
 * Check an identifier.
 *
 * @param text the text of the request
 * @param what the part of the request that is wrong otherwise
 * @returns the identifier, in lower case
 * @throws ConnectError with `InvalidArgument` if the text is not 64 hex digits
 */
export function identifier(text: string, what: "identifier" | "filter" = "identifier"): string {
  if (!IDENTIFIER.test(text)) {
    throw invalid(what, `${JSON.stringify(text)} is not an identifier of 64 hex digits`);
  }
  return text.toLowerCase();
}

/**
 * Make the condition that a value is one of several. The conditions of a filter are joined by "and", the values of one
 * by "or", as deployed nodes do.
 *
 * @param wanted the values; none let all through
 * @returns a function that tells whether any of the values that it is given is wanted
 */
export function oneOf<V>(wanted: readonly V[]): (...values: V[]) => boolean {
  const all = new Set(wanted);
  return all.size === 0 ? () => true : (...values) => values.some((value) => all.has(value));
}

/**
 * Make the condition that an identifier is one of several, as {@link oneOf} does.
 *
 * @param ids the identifiers of a filter, 64 hex digits each; none let all through
 * @returns a function that tells whether any of the identifiers that it is given is wanted; these are in lower case
 * @throws ConnectError with `InvalidArgument` if an identifier of the filter is malformed
 */
export function identifiers(ids: readonly string[]): (...values: string[]) => boolean {
  return oneOf(ids.map((id) => identifier(id, "filter")));
}

/**
 * Make the condition that a time is within a range. The end is excluded.
 *
 * @param range the range, in Unix nanoseconds; an end that is not given is open
 * @returns a function that tells whether a time, in Unix nanoseconds, is within it
 * @throws ConnectError with `InvalidArgument` if the range is empty
 */
export function within(range: DateRange | undefined): (time: bigint) => boolean {
  const { startTimestamp: start, endTimestamp: end } = range ?? {};
  if (start !== undefined && end !== undefined && start >= end) {
    throw invalid("filter", `the date range is empty: it starts at ${start} and ends at ${end}`);
  }
  return (time) => (start === undefined || time >= start) && (end === undefined || time < end);
}
