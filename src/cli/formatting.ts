import stringWidth from "fast-string-width";

let counts: Intl.NumberFormat | undefined;

export function compact(count: bigint | number): string {
  // Made when it is first used: it takes as long as loading a hundred kB of code.
  counts ??= new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
  return counts.format(count);
}

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

export function grouped(count: bigint | number): string {
  return count.toLocaleString("en-US");
}

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

/** Formats a speed in bytes a second, in a unit that does not change while the speed does. */
export function speed(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB/s`;
}

export function clock(iso: string): string {
  return new Date(iso).toTimeString().slice(0, 8);
}

/** Formats a time as ISO 8601 in UTC, with as many decimals as it needs. */
export function isoTime(nanoseconds: bigint): string {
  const fraction = ((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const date = new Date(Number((nanoseconds - fraction) / 1_000_000n));
  if (Number.isNaN(date.getTime())) {
    return String(nanoseconds);
  }
  const decimals = String(fraction).padStart(9, "0").replace(/0+$/, "");
  return `${date.toISOString().slice(0, -5)}${decimals === "" ? "" : `.${decimals}`}Z`;
}

/** Breaks a text into lines at its spaces. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1) ?? ""} ${word}`;
    if (lines.length > 0 && stringWidth(longer) <= width) {
      lines[lines.length - 1] = longer;
    } else {
      lines.push(word);
    }
  }
  return lines;
}

/** Breaks the lines of a text at their spaces. Those that begin with a space, as in a list of values, stay. */
export function wrappedLines(text: string, width: number): string {
  return text.replace(/^\S.*/gm, (line) => wrapped(line, width).join("\n"));
}
