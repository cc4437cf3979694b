/** The last instant that has a time of four digits for the year, which is more than nodes take: 9999-12-31, in µs. */
const LAST = 253_402_300_799_999_999n;
/** 0001-01-01 00:00:00 UTC, in microseconds. */
const FIRST = -62_135_596_800_000_000n;

/**
 * Write a time as PostgreSQL writes a `timestamptz` with time zone 0.
 *
 * @param nanoseconds Unix nanoseconds; what is less than a microsecond is left out
 * @returns such as `2023-10-19 08:00:01.007919+00`, its fraction without zeros at the end; times before the year 1 and
 *   after 9999 become the first and the last one between them
 */
export function timeText(nanoseconds: bigint): string {
  const floor = nanoseconds / 1000n - (nanoseconds % 1000n < 0n ? 1n : 0n);
  const microseconds = floor < FIRST ? FIRST : floor > LAST ? LAST : floor;
  const remainder = microseconds % 1_000_000n;
  const fraction = remainder < 0n ? remainder + 1_000_000n : remainder;
  const seconds = Number((microseconds - fraction) / 1_000_000n);
  const text = new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  return `${text}${fraction === 0n ? "" : `.${String(fraction).padStart(6, "0").replace(/0+$/, "")}`}+00`;
}
