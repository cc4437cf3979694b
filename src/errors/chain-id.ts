import { RequestError } from "./errors.js";
import { quoted } from "./quoted.js";
import { typeName } from "./type-name.js";

/** The most characters of a chain's identifier, as in the network's consensus layer. */
const LONGEST = 50;

/**
 * Tell whether a text can be the identifier of a chain: 1 to 50 of `A-Z a-z 0-9 . _ -`. Signed messages, file names and
 * terminals take it as it is.
 *
 * @param text the text, which may come from a node
 * @returns whether it has that form
 */
export function isChainId(text: string): boolean {
  return text.length <= LONGEST && /^[A-Za-z0-9._-]+$/.test(text);
}

/**
 * Refuse a text that cannot be the identifier of a chain.
 *
 * @param name what it is, for the error, such as `chainId`
 * @param text the text, of any length; the error shows its beginning
 * @throws {@link RequestError} where {@link isChainId} does not hold
 */
export function requireChainId(name: string, text: string): void {
  if (typeof text !== "string" || !isChainId(text)) {
    throw new RequestError(
      `${name} is ${typeof text === "string" ? quoted(text) : typeName(text)}, which is no identifier of a chain`,
      {
        advice: `An identifier has 1 to ${LONGEST} characters of A-Z a-z 0-9 . _ -`,
      },
    );
  }
}
