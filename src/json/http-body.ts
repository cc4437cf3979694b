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
 * Refuse a raw body that ends with its connection: where that is lost, data would be missing without a word.
 *
 * @param header the header of an HTTP response whose body is raw
 * @throws {@link ProtocolError} where the body has neither a length nor a last chunk
 */
export function requireKnownEnd(header: Headers): void {
  if (!header.has("content-length") && !/\bchunked\b/i.test(header.get("transfer-encoding") ?? "")) {
    throw new ProtocolError(
      "the response has neither a length nor an end of its own, so that a cut could not be seen",
      {
        advice: "Call the node over gRPC, or have what stands in front of its gateway answer with HTTP/1.1.",
      },
    );
  }
}

/**
 * Read the media type of a body.
 *
 * @param header the header of the response
 * @returns the media type in lower case, without parameters; empty where there is none
 */
export function mediaTypeOf(header: Headers): string {
  return (header.get("content-type")?.split(";", 1)[0] ?? "").trim().toLowerCase();
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
