/**
 * Write a count in few characters.
 *
 * @param count the count, from 0
 * @returns such as `999`, `12.3k`, `4.56M`
 */
export function compact(count: number): string {
  const units = ["", "k", "M", "G", "T", "P"];
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? String(value) : `${value.toPrecision(3)}${units[unit]}`;
}

/**
 * Write a time span in its two largest units.
 *
 * @param seconds the span in seconds
 * @returns such as `9s`, `2m 05s`, `3h 10m`, `4d 2h`
 */
export function span(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days > 0) {
    return `${days}d ${hours}h`;
  }
  if (hours > 0) {
    return `${hours}h ${String(minutes).padStart(2, "0")}m`;
  }
  return minutes > 0 ? `${minutes}m ${String(whole % 60).padStart(2, "0")}s` : `${whole}s`;
}

/**
 * Write a count with its thousands apart.
 *
 * @param count the count
 * @returns such as `12,345`
 */
export function grouped(count: bigint | number): string {
  return count.toLocaleString("en-US");
}

/** Write the time of day of an ISO 8601 time, in this machine's zone: `14:05:09`. */
export function clock(iso: string): string {
  return new Date(iso).toTimeString().slice(0, 8);
}
