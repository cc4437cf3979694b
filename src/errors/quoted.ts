/**
 * A text from outside for a message: in quotes, on one line, and no longer than a line should be.
 *
 * @param text what was found
 * @param most how many characters of it are shown at the most
 * @returns the text as JSON, cut with an ellipsis where it is longer
 */
export function quoted(text: string, most = 80): string {
  return JSON.stringify(text.length > most ? `${text.slice(0, most)}…` : text);
}
