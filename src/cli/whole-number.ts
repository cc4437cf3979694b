import { RequestError } from "../errors/index.js";

/** A whole number of the command line. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw new RequestError(`${JSON.stringify(text)} is no whole number`, { advice: "Give digits only." });
  }
  return Number(text);
}
