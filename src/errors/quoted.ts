/**
 * Quote a text from outside in a message, on one line.
 *
 * @param text the text that was found
 * @param most the most characters of it to show
 * @returns the text as JSON, cut with an ellipsis where it is longer
 */
export function quoted(text: string, most = 80): string {
  return JSON.stringify(cut(text, most));
}

/**
 * Cut a text from outside.
 *
 * @param text the text
 * @param most the most characters of it to keep
 * @returns the text, with an ellipsis where it was longer
 */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** The most characters of a node's message in an error's summary. */
export const MAX_MESSAGE = 1000;
