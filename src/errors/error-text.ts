/**
 * Returns the name of an option as its user knows it: the library's own name, or a command's flag. `words` are shown instead
 * of the library's name.
 */
export type OptionNames = (option: string, words?: string) => string;

/** A text of an error. One that mentions options is a function of their names, so that a command can show its flags. */
export type ErrorText = string | ((nameOf: OptionNames) => string);

/**
 * Renders a text of an error.
 *
 * @param text the text
 * @param nameOf returns the names of options; by default the library's own
 * @returns the text with these names
 */
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

/**
 * Words an error, for example for the user of a command.
 *
 * @param texts the error's texts
 * @param nameOf returns the names of options; by default the library's own
 * @returns its summary and advice with these names
 */
export function wordingOf({ headline, notes, advice }: ErrorTexts, nameOf?: OptionNames): ErrorWording {
  const said = renderText(headline, nameOf);
  return {
    summary: notes.length === 0 ? said : `${said} (${notes.join("; ")})`,
    advice: renderText(advice, nameOf),
  };
}

/**
 * Quotes external text for a message, on one line.
 *
 * @param text the text
 * @param maxLength the maximum number of characters to show
 * @returns the text as JSON, truncated with an ellipsis if it is longer
 */
export function quoted(text: string, maxLength = 80): string {
  return JSON.stringify(truncate(text, maxLength));
}

/**
 * Truncates external text.
 *
 * @param text the text
 * @param maxLength the maximum number of characters to keep
 * @returns the text, with an ellipsis if it was longer
 */
export function truncate(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

/** The maximum number of characters of a node's message in the summary of an error. */
export const MAX_MESSAGE = 1000;

/**
 * Returns the type of a value in words, without the value itself, which may be secret.
 *
 * @param value any value
 * @returns the type with its article, such as `a number`
 */
export function describeType(value: unknown): string {
  if (value === null) {
    return "null";
  }
  switch (typeof value) {
    case "object":
      return Array.isArray(value) ? "a list" : "an object";
    case "string":
      return "a text";
    case "boolean":
      return "true or false";
    default:
      return value === undefined ? "undefined" : `a ${typeof value}`;
  }
}

/**
 * Returns the name that a misspelled name most likely means.
 *
 * @param name the misspelled name
 * @param candidates the names that exist
 * @returns the closest candidate, ignoring case; undefined if none is close
 */
export function closestName(name: string, candidates: readonly string[]): string | undefined {
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance * 2 <= name.length + candidate.length)
    .sort((a, b) => a.distance - b.distance);
  return best?.candidate;
}

/**
 * Returns the advice of an error about an unknown name.
 *
 * @param name the unknown name
 * @param names the names that exist
 * @returns a suggestion of the closest name, if one is close, and the list of all names
 */
export function suggestNames(name: string, names: readonly string[]): string {
  const near = closestName(name, names);
  return `${near === undefined ? "" : `Did you mean ${near}? `}There are ${names.join(", ")}.`;
}

/**
 * Returns the number of insertions and deletions that turn one text into the other. A replacement counts as one of each,
 * so that `GRPC_WINDOW` is closer to `GRPC_WINDOW_BYTES` than to `GRPC_CODEC`.
 */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (character === other ? 0 : 2);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
