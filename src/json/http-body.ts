import { Code } from "@connectrpc/connect";
import { brokenAnswer, notOfTheInterface } from "../errors/broken-answer.js";
import { ProtocolError } from "../errors/index.js";

/** How many chunks without data may follow one another. Each could otherwise be followed by one more. */
const MAX_EMPTY_CHUNKS = 1000;

/** A part of a body that comes as messages (`google.api.HttpBody`). */
export interface BodyPart {
  /** The media type of the body. */
  readonly contentType: string;
  readonly data: Uint8Array;
}

/**
 * Make a function that holds the parts of a body to what they must be: of one media type, and with an end.
 *
 * @param mediaType the media type of the body, without parameters
 * @returns the function, to be called with every part in turn; it throws a {@link ProtocolError} where a part is of
 *   another type, or too many without data follow one another
 */
export function createBodyCheck(mediaType: string): (part: BodyPart) => void {
  let number = 0;
  let empty = 0;
  return ({ contentType, data }) => {
    number += 1;
    const found = contentType.split(";", 1)[0]?.trim().toLowerCase();
    if (found === "text/html") {
      throw brokenAnswer(notOfTheInterface(found), bodyBeginning(data)); // A raw body keeps the type of its response.
    }
    // Chunks after the first may leave the content type out.
    if (found !== mediaType && (number === 1 || found !== "")) {
      const named = contentType === "" ? "none" : JSON.stringify(contentType.slice(0, 80));
      throw new ProtocolError(
        `the content type of chunk ${number} is ${named}, not "${mediaType}"${bodyBeginning(data)}`,
        { code: Code.Internal, advice: "Check that the URL is the node's own: something else may have answered." },
      );
    }
    empty = data.length === 0 ? empty + 1 : 0;
    if (empty > MAX_EMPTY_CHUNKS) {
      throw new ProtocolError(`the export has more than ${MAX_EMPTY_CHUNKS} empty chunks in a row, the limit`, {
        code: Code.ResourceExhausted,
        advice: "Nothing comes any more; try again, then another node.",
      });
    }
  };
}

/**
 * Quote the beginning of a body, for an error's summary.
 *
 * @param data the body's first bytes
 * @returns the text; empty where there are none
 */
export function bodyBeginning(data: Uint8Array): string {
  return data.length === 0
    ? ""
    : `; it begins with ${JSON.stringify(Buffer.from(data.subarray(0, 60)).toString("latin1"))}`;
}
