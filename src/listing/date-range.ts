import { requireKnown } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";

/** A span of time. */
export interface DateRange {
  /** Start, included: Unix nanoseconds, or a date. */
  readonly startTimestamp?: bigint | Date | undefined;
  /** End: Unix nanoseconds, or a date. Deployed nodes exclude it. */
  readonly endTimestamp?: bigint | Date | undefined;
}

/**
 * Check a span of time.
 *
 * @param range the span; a date has a precision of milliseconds
 * @returns the span in Unix nanoseconds
 * @throws {@link RequestError} where a time is invalid, or the span is empty
 */
export function readDateRange(range: DateRange) {
  requireKnown("dateRange", range, { startTimestamp: true, endTimestamp: true });
  const { startTimestamp, endTimestamp } = range;
  const start = startTimestamp === undefined ? undefined : nanoseconds(startTimestamp, "startTimestamp");
  const end = endTimestamp === undefined ? undefined : nanoseconds(endTimestamp, "endTimestamp");
  if (start !== undefined && end !== undefined && start >= end) {
    throw new RequestError(`the date range is empty: it starts at ${start} and ends at ${end}`, {
      advice: "Give a start that is before the end, in Unix nanoseconds or as dates.",
    });
  }
  return { startTimestamp: start, endTimestamp: end };
}

function nanoseconds(time: bigint | Date, name: string): bigint {
  const value =
    time instanceof Date ? (Number.isNaN(time.getTime()) ? undefined : BigInt(time.getTime()) * 1_000_000n) : time;
  if (typeof value !== "bigint" || BigInt.asIntN(64, value) !== value) {
    throw new RequestError(`${name} is ${String(time)}, which is no time`, {
      advice: "Give a Date, or Unix nanoseconds as a bigint of 64 bits.",
    });
  }
  return value;
}
