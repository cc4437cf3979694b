/**
 * Returns the name of an option as the user knows it: the library's own name, or a command's flag. `words` are shown instead of
 * the library's name.
 */
export type OptionNames = (option: string, words?: string) => string;

/** A text of an error. One that mentions options is a function of their names, so that a command can show its flags. */
export type ErrorText = string | ((nameOf: OptionNames) => string);

export function renderText(text: ErrorText, nameOf: OptionNames = (option, words = option) => words): string {
  return typeof text === "string" ? text : text(nameOf);
}

/** The texts of an error before the names of options are filled in. */
export interface ErrorTexts {
  readonly headline: ErrorText;
  readonly notes: readonly string[];
  readonly advice: ErrorText;
}

/** Summary and advice of an error. */
export interface ErrorWording {
  readonly summary: string;
  readonly advice: string;
}

/** Formats an error, for example for the user of a command. */
export function wordingOf({ headline, notes, advice }: ErrorTexts, nameOf?: OptionNames): ErrorWording {
  const said = renderText(headline, nameOf);
  return {
    summary: notes.length === 0 ? said : `${said} (${notes.join("; ")})`,
    advice: renderText(advice, nameOf),
  };
}

/** Quotes external text for a message, on one line. */
export function quoted(text: string, maxLength = 80): string {
  return JSON.stringify(truncate(text, maxLength));
}

export function truncate(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

/** The maximum number of characters of a node's message in the summary of an error. */
export const MAX_MESSAGE = 1000;

/** Returns the type of a value in words, without the value itself, which may be secret. */
export function describeType(value: unknown): string {
  if (value === null) {
    return "null";
  }
  switch (typeof value) {
    case "object":
      return Array.isArray(value) ? "an array" : "an object";
    case "string":
      return "a string";
    case "boolean":
      return "a boolean";
    default:
      return value === undefined ? "undefined" : `a ${typeof value}`;
  }
}

/** The minimum length of a name that can suggest another one. */
const MIN_PART = 3;

/** Returns whether so few of the characters are wrong that one name was probably meant to be the other: one, or at most a quarter. */
function isNear(distance: number, length: number): boolean {
  return distance * 4 <= length || (distance === 1 && length >= MIN_PART);
}

/** Returns whether a name begins with a part, or ends with it behind a character that separates words. */
function hasPart(name: string, part: string): boolean {
  return name.startsWith(part) || (name.endsWith(part) && /\W|_/u.test(name.at(-part.length - 1) ?? ""));
}

/**
 * Returns the most likely intended name for a misspelled one: one with few typos, or otherwise a longer one that begins with it or has it as
 * its last word, as `grpc.url` has `url`.
 */
export function closestName(name: string, candidates: readonly string[]): string | undefined {
  const written = name.toLowerCase();
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: editDistance(written, candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => isNear(distance, Math.max(name.length, candidate.length)))
    .sort((a, b) => a.distance - b.distance);
  const longer = written.length < MIN_PART ? [] : candidates.filter((each) => hasPart(each.toLowerCase(), written));
  return best?.candidate ?? longer[0];
}

export function suggestNames(name: string, names: readonly string[]): string {
  const near = closestName(name, names);
  return `${near === undefined ? "" : `Did you mean ${near}? `}Valid names: ${names.join(", ")}.`;
}

/**
 * Returns the number of typing errors that turn one text into the other (Damerau-Levenshtein): characters that are inserted,
 * left out, replaced, or swapped with the next one.
 */
function editDistance(from: string, to: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      next.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (next[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (isSame ? 0 : 1),
          ...(isSwapped ? [(beforeLast[column - 2] ?? 0) + 1] : []),
        ),
      );
    }
    [beforeLast, last] = [last, next];
  }
  return last[to.length] ?? 0;
}
