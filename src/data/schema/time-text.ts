/** A time as PostgreSQL writes it with time zone 0. Such texts have the order of the times. */
export const TIME =
  /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]) (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?\+00$/;

/** Reads a time as PostgreSQL writes it: Unix microseconds, or `undefined` for another text. */
export function timeOf(text: string): bigint | undefined {
  if (!TIME.test(text)) {
    return undefined;
  }
  const seconds = Date.parse(`${text.slice(0, 10)}T${text.slice(11, 19)}Z`) / 1000;
  return BigInt(seconds) * 1_000_000n + BigInt(text.slice(20, -3).padEnd(6, "0"));
}

/** Writes Unix microseconds as PostgreSQL writes a time. */
export function timeText(micros: bigint): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const iso = new Date(Number((micros - fraction) / 1000n)).toISOString();
  const decimals = String(fraction).padStart(6, "0").replace(/0+$/, "");
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}${decimals === "" ? "" : `.${decimals}`}+00`;
}

/** Returns the first whole microsecond at or after a time in Unix nanoseconds. Times in tables are whole microseconds. */
export function microsFrom(nanoseconds: bigint): bigint {
  return (nanoseconds + 999n) / 1000n;
}
