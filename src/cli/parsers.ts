import { RequestError } from "../base/errors/index.js";
import { MAX_TIMER_MS, unixMs } from "../base/runtime/index.js";

/**
 * Parses a whole number.
 *
 * @throws {@link RequestError} if the text is anything else
 */
export function parseInteger(text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw new RequestError(`must be a whole number from 0 (got ${JSON.stringify(text)})`);
  }
  return Number(text);
}

/** A number of blocks: digits, or a decimal number of thousands or millions. */
const BLOCKS = /^(\d{1,19})(?:\.(\d{1,6}))?(k|m)?$/i;

/** The zeros that a suffix stands for. */
const ZEROS = new Map([
  ["", 0],
  ["k", 3],
  ["m", 6],
]);

function blocksOf(text: string): bigint | undefined {
  const [, digits, decimals = "", suffix = ""] = BLOCKS.exec(text) ?? [];
  const zeros = ZEROS.get(suffix.toLowerCase()) ?? 0;
  return digits === undefined || decimals.length > zeros ? undefined : BigInt(digits + decimals.padEnd(zeros, "0"));
}

/**
 * Parses a block height, which may be in thousands (`5k`) or millions (`1.5M`).
 *
 * @throws {@link RequestError} if the text is anything else
 */
export function parseBlockHeight(text: string): bigint {
  const height = blocksOf(text);
  if (height === undefined) {
    throw new RequestError(
      `must be a block height, a whole number from 1, such as 1500, 5k or 1M (got ${JSON.stringify(text)})`,
    );
  }
  return height;
}

/**
 * Parses a block height, or one that counts from the last block, which is -1: `-100k` is the first of the last 100,000.
 *
 * @throws {@link RequestError} if the text is anything else
 */
export function parseBlock(text: string): bigint {
  const back = text.startsWith("-") ? blocksOf(text.slice(1)) : undefined;
  if (text.startsWith("-") && (back ?? 0n) === 0n) {
    throw new RequestError(
      `must be a block height, such as 1500, 5k or 1M, or count from the last block, such as -100k (got ${JSON.stringify(text)})`,
    );
  }
  return back === undefined ? parseBlockHeight(text) : -back;
}

/** The first and the last block of a range; what is omitted ends with the history. */
export interface ParsedBlocks {
  readonly fromBlock?: bigint;
  readonly toBlock?: bigint;
}

/**
 * Parses a range of blocks, inclusive: `5k:1M`, `5k:`, `:1M` or `-100k:`.
 *
 * @throws {@link RequestError} if the text is anything else
 */
export function parseBlocks(text: string): ParsedBlocks {
  const [from = "", to = "", ...more] = text.split(":");
  if (!text.includes(":") || more.length > 0 || from + to === "") {
    throw new RequestError(
      `must be the first and the last block with a colon between them, such as 5k:1M, 5k: or -100k: (got ${JSON.stringify(text)})`,
    );
  }
  return { ...(from !== "" && { fromBlock: parseBlock(from) }), ...(to !== "" && { toBlock: parseBlock(to) }) };
}

/**
 * Parses a count, which is at least 1.
 *
 * @throws {@link RequestError} if the text is anything else
 */
export function parseCount(text: string): number {
  if (!/^0*[1-9]\d{0,14}$/.test(text)) {
    throw new RequestError(`must be a positive whole number (got ${JSON.stringify(text)})`);
  }
  return Number(text);
}

/** Bytes of each unit of a size. */
const SIZES = new Map([
  ["mb", 1e6],
  ["mib", 2 ** 20],
  ["gb", 1e9],
  ["gib", 2 ** 30],
  ["tb", 1e12],
  ["tib", 2 ** 40],
]);

/**
 * Parses a size with its unit, such as `512MiB` or `4GiB`. Returns bytes.
 *
 * @throws {@link RequestError} if the text is anything else
 */
export function parseSize(text: string): number {
  const [, number, unit = ""] = /^(\d{1,9}(?:\.\d{1,9})?)([mgt]i?b)$/i.exec(text) ?? [];
  const bytes = Math.floor(Number(number) * (SIZES.get(unit.toLowerCase()) ?? Number.NaN));
  if (!(bytes > 0)) {
    throw new RequestError(`must be a size, such as 512MiB or 4GiB (got ${JSON.stringify(text)})`);
  }
  return bytes;
}

/** ISO 8601: a date, or a date and a time with up to nine decimals of a second and an optional zone. */
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** A duration before now. */
const BEFORE_NOW = /^[\d.]+(ms|s|m|h)$/;

/**
 * Parses a time, which may be a duration before now.
 *
 * @throws {@link RequestError} if the text is not a time
 */
export function parseTime(text: string, flag: string): bigint {
  if (BEFORE_NOW.test(text)) {
    return BigInt(unixMs() - parseDuration(text, flag)) * 1_000_000n;
  }
  if (/^\d{1,19}$/.test(text)) {
    return BigInt(text);
  }
  const [, day, minute = "00:00", second = "00", fraction = "", zone = "Z"] = ISO.exec(text) ?? [];
  const milliseconds = day === undefined ? Number.NaN : Date.parse(`${day}T${minute}:${second}${zoneOf(zone)}`);
  // Date.parse reads a day that does not exist, such as 30 February, as a day of the next month.
  if (
    Number.isNaN(milliseconds) ||
    (day !== undefined && !new Date(`${day}T00:00:00Z`).toISOString().startsWith(day))
  ) {
    const form =
      "ISO 8601, such as 2024-01-31 or 2024-01-31T12:30:00Z, a duration before now, such as 1h, or Unix nanoseconds";
    throw new RequestError(`must be ${form} (got ${JSON.stringify(text)})`);
  }
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** The time from which a command that can be resumed starts. */
export interface Since {
  readonly time: bigint;
  /** Whether the text means the same time whenever the command is started. */
  readonly isFixed: boolean;
}

/** Parses a time like {@link parseTime}. */
export function parseSince(text: string, flag: string): Since {
  return { time: parseTime(text, flag), isFixed: !BEFORE_NOW.test(text) };
}

function zoneOf(zone: string): string {
  return zone.toUpperCase() === "Z" ? "Z" : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
}

/** Milliseconds of each unit of a duration. */
const UNITS = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** Parses a duration: a number with a unit, such as `500ms`, `30s`, `2m` or `1h`; without a unit, it is in seconds. */
export const parseDuration = durationParser();

/** Parses a duration that may be 0. */
export function parseDurationOrZero(text: string, flag: string): number {
  return text === "0" ? 0 : parseDuration(text, flag);
}

export function durationParser(advice?: string): (text: string, flag: string) => number {
  return (text, flag) => {
    const [, number, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
    if (number === undefined) {
      throw new RequestError(`must be a duration, such as 500ms, 30s, 2m or 1h (got ${JSON.stringify(text)})`, {
        advice: advice ?? "The default unit is seconds.",
      });
    }
    const time = Math.round(Number(number) * (UNITS.get(unit) ?? 1));
    if (time < 1 || time > MAX_TIMER_MS) {
      throw new RequestError(`must be a duration from 1ms to 596h (got ${JSON.stringify(text)})`, {
        option: flag,
        advice,
      });
    }
    return time;
  };
}

export function parsePattern(pattern: string, flags = ""): RegExp {
  const escaped = pattern.replace(/[.+^${}()|[\]\\/-]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, `s${flags}`);
}
