/** The units of durations, in nanoseconds. */
const UNITS = new Map([
  ["h", 3_600_000_000_000n],
  ["m", 60_000_000_000n],
  ["s", 1_000_000_000n],
  ["ms", 1_000_000n],
  ["us", 1000n],
  ["ns", 1n],
]);

const SECOND = 1_000_000_000n;

/**
 * Parse a duration as the network's parameters write them.
 *
 * @param text the duration, such as `48h0m0s` or `1.5s`
 * @returns nanoseconds; `undefined` where the text is no duration
 */
export function parseDuration(text: string): bigint | undefined {
  if (text === "0") {
    return 0n;
  }
  if (!/^(\d+(\.\d+)?(h|ms|us|ns|m|s))+$/.test(text)) {
    return undefined;
  }
  let sum = 0n;
  for (const [, whole = "", , fraction = "", unit = ""] of text.matchAll(/(\d+)(\.(\d+))?(h|ms|us|ns|m|s)/g)) {
    const scale = 10n ** BigInt(fraction.length);
    sum += ((UNITS.get(unit) ?? 0n) * BigInt(whole + fraction)) / scale;
  }
  return sum;
}

/**
 * Format a duration as the network's messages write them.
 *
 * @param nanoseconds whole seconds, in nanoseconds
 * @returns such as `48h0m0s`, `5m0s` or `-3s`
 */
export function formatDuration(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? "-" : "";
  const seconds = (nanoseconds < 0n ? -nanoseconds : nanoseconds) / SECOND;
  const [hours, minutes, rest] = [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n];
  const head = hours > 0n ? `${hours}h${minutes}m` : minutes > 0n ? `${minutes}m` : "";
  return `${sign}${head}${rest}s`;
}

/**
 * Format a time as the network's messages write them.
 *
 * @param nanoseconds Unix nanoseconds
 * @returns such as `2026-11-23 03:31:42.968354099 +0000 UTC`, without zeros at the end of the fraction
 */
export function formatTime(nanoseconds: bigint): string {
  const date = new Date(Number(nanoseconds / 1_000_000n));
  const fraction = String(nanoseconds % SECOND)
    .padStart(9, "0")
    .replace(/0+$/, "");
  const [day = "", clock = ""] = date.toISOString().split("T");
  return `${day} ${clock.slice(0, 8)}${fraction === "" ? "" : `.${fraction}`} +0000 UTC`;
}
