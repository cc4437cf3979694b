import { RequestError } from "../errors/index.js";

/** ISO 8601: a date, or a date and a time with up to nine decimals of a second and an optional zone. */
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * Parse a time of the command line.
 *
 * @param text Unix nanoseconds as digits, or ISO 8601, in UTC if it names no zone
 * @returns Unix nanoseconds
 * @throws {@link RequestError} if the text is not a time
 */
export function parseTime(text: string): bigint {
  if (/^\d{1,19}$/.test(text)) {
    return BigInt(text);
  }
  const [, day, minute = "00:00", second = "00", fraction = "", zone = "Z"] = ISO.exec(text) ?? [];
  const milliseconds = day === undefined ? Number.NaN : Date.parse(`${day}T${minute}:${second}${zoneOf(zone)}`);
  // Date.parse takes a day that does not exist, such as 30 February, for a day of the next month.
  if (
    Number.isNaN(milliseconds) ||
    (day !== undefined && !new Date(`${day}T00:00:00Z`).toISOString().startsWith(day))
  ) {
    throw new RequestError(`${JSON.stringify(text)} is no time`, {
      advice: "Give ISO 8601, such as 2024-01-31 or 2024-01-31T12:30:00Z, or Unix nanoseconds.",
    });
  }
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

function zoneOf(zone: string): string {
  return zone.toUpperCase() === "Z" ? "Z" : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
}

/**
 * Format a time as ISO 8601 in UTC, with as many decimals as it needs.
 *
 * @param nanoseconds Unix nanoseconds
 * @returns the ISO 8601 text, or the digits if the time is out of the range of `Date`
 */
export function isoTime(nanoseconds: bigint): string {
  const fraction = ((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const date = new Date(Number((nanoseconds - fraction) / 1_000_000n));
  if (Number.isNaN(date.getTime())) {
    return String(nanoseconds);
  }
  const decimals = String(fraction).padStart(9, "0").replace(/0+$/, "");
  return `${date.toISOString().slice(0, -5)}${decimals === "" ? "" : `.${decimals}`}Z`;
}
