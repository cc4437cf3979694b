/**
 * Quote a text from outside in a message, on one line.
 *
 * @param text the text that was found
 * @param most the most characters of it to show
 * @returns the text as JSON, cut with an ellipsis where it is longer
 */
export function quoted(text: string, most = 80): string {
  return JSON.stringify(text.length > most ? `${text.slice(0, most)}…` : text);
}
