import { RequestError } from "../errors/index.js";

/** ISO 8601: a date, or a date and a time, with a zone or in UTC; up to nine decimals of a second. */
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * A time of the command line in Unix nanoseconds: digits are nanoseconds already, anything else is ISO 8601, in UTC where it
 * names no zone.
 *
 * @throws {@link RequestError} where it is neither
 */
export function parseTime(text: string): bigint {
  if (/^\d{1,19}$/.test(text)) {
    return BigInt(text);
  }
  const [, day, minute = "00:00", second = "00", fraction = "", zone = "Z"] = ISO.exec(text) ?? [];
  const milliseconds = day === undefined ? Number.NaN : Date.parse(`${day}T${minute}:${second}${zoneOf(zone)}`);
  // A day that the month does not have would be taken for one of the next.
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

/** Unix nanoseconds as ISO 8601 in UTC, with as many decimals as they need; digits where no calendar has them. */
export function isoTime(nanoseconds: bigint): string {
  const fraction = ((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const date = new Date(Number((nanoseconds - fraction) / 1_000_000n));
  if (Number.isNaN(date.getTime())) {
    return String(nanoseconds);
  }
  const decimals = String(fraction).padStart(9, "0").replace(/0+$/, "");
  return `${date.toISOString().slice(0, -5)}${decimals === "" ? "" : `.${decimals}`}Z`;
}
