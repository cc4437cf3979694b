import { RequestError } from "../errors/index.js";

/**
 * Parse a whole number of the command line.
 *
 * @param text 1 to 15 decimal digits
 * @returns the number
 * @throws {@link RequestError} if the text is not such a number
 */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw new RequestError(`${JSON.stringify(text)} is no whole number`, { advice: "Give digits only." });
  }
  return Number(text);
}
