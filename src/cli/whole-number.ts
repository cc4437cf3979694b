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

/**
 * Parse the height of a block of the command line.
 *
 * @param text 1 to 19 decimal digits
 * @returns the height
 * @throws {@link RequestError} if the text is not such a number
 */
export function blockHeight(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) {
    throw new RequestError(`${JSON.stringify(text)} is no block`, { advice: "Give a whole number from 1." });
  }
  return BigInt(text);
}

/**
 * Parse a number of the command line that counts what is wanted.
 *
 * @param text a whole number from 1
 * @returns the number
 * @throws {@link RequestError} if the text is not such a number
 */
export function countFromOne(text: string): number {
  const number = wholeNumber(text);
  if (number === 0) {
    throw new RequestError("0 is too few", { advice: "Give a whole number from 1." });
  }
  return number;
}
