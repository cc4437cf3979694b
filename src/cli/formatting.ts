const counts = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

/**
 * Formats a count in few characters.
 *
 * @param count the count, at least 0
 * @returns for example `999`, `12.3K`, `4.56M`
 */
export function compact(count: bigint | number): string {
  return counts.format(count);
}

/**
 * Formats a time span in its two largest units.
 *
 * @param seconds the span in seconds
 * @returns for example `9s`, `2m 05s`, `3h 10m`, `4d 2h`
 */
export function span(seconds: number): string {
  const total = Math.ceil(seconds);
  const [days, hours, minutes] = [
    Math.floor(total / 86_400),
    Math.floor(total / 3600) % 24,
    Math.floor(total / 60) % 60,
  ];
  if (days > 0) {
    return `${days}d ${hours}h`;
  }
  if (hours > 0) {
    return `${hours}h ${String(minutes).padStart(2, "0")}m`;
  }
  return minutes > 0 ? `${minutes}m ${String(total % 60).padStart(2, "0")}s` : `${total}s`;
}

/**
 * Formats a count with a comma between thousands.
 *
 * @param count the count
 * @returns for example `12,345`
 */
export function grouped(count: bigint | number): string {
  return count.toLocaleString("en-US");
}

/**
 * Formats a size.
 *
 * @param bytes the number of bytes
 * @returns the size with a unit, for example `1.5 MiB`
 */
export function size(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/**
 * Formats the time of day in the time zone of this machine.
 *
 * @param iso an ISO 8601 time
 * @returns for example `14:05:09`
 */
export function clock(iso: string): string {
  return new Date(iso).toTimeString().slice(0, 8);
}

/**
 * Formats a time as ISO 8601 in UTC, with as many decimals as it needs.
 *
 * @param nanoseconds Unix nanoseconds
 * @returns the ISO 8601 text, or the digits if `Date` cannot represent the time
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
