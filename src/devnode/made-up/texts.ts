import { pick } from "./numbers.js";

/**
 * Give a text as users type it. The texts exercise every rule of the CSV format (specification, 4.1): delimiters,
 * quotes, all kinds of line breaks, the empty text, spaces at the ends, PostgreSQL's own markers, and other scripts.
 *
 * @param number chooses the text, from 0
 * @returns the text
 */
export function freeText(number: number): string {
  return pick(texts, number);
}

const texts: readonly [string, ...string[]] = [
  "hedge",
  "buy low, sell high",
  'the "safe" side',
  "first line\nsecond line",
  "",
  "first line\r\nsecond line",
  "first line\rsecond line",
  "\\.",
  "  two spaces at both ends  ",
  "Größe – déjà vu, señor",
  "注文番号、第一",
  "🚀 to the moon 🦊",
  "طلب شراء رقم",
  'all at once: ",\r\n"',
  "NULL",
  "\\N\ttab",
  '"',
];
