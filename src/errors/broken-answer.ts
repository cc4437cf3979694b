import { Code } from "@connectrpc/connect";
import { ProtocolError } from "./errors.js";

/** What can be wrong with an answer whatever it came over, so that it is told in the same words over every transport. */
export interface BrokenAnswer {
  readonly summary: string;
  readonly code: Code;
  readonly advice: string;
}

const CHECK_URL = "Check that the URL is the node's own and of this transport: something else may have answered.";

/** Something else than a node answered. */
export function notOfTheInterface(contentType: string): BrokenAnswer {
  const found = contentType === "" ? "of no content type" : contentType.split(";", 1)[0]?.trim().toLowerCase();
  return { summary: `the response is ${found}, not of the node's interface`, code: Code.Internal, advice: CHECK_URL };
}

export const CUT_SHORT: BrokenAnswer = {
  summary: "the response was cut short",
  code: Code.DataLoss,
  advice: "Try again; if it persists, the node or something in front of it cuts answers short.",
};

export const EMPTY: BrokenAnswer = {
  summary: "the response is empty",
  code: Code.Internal,
  advice:
    "Try again; if it persists, check that the URL is the node's own and that nothing in front of it changes answers.",
};

export const TOO_LARGE: BrokenAnswer = {
  summary: "a message is larger than the limit",
  code: Code.ResourceExhausted,
  advice: "Raise limits.maxMessageBytes (gRPC) or limits.maxJsonBytes (REST) if the node is right to send that much.",
};

export const HEADERS_TOO_LARGE: BrokenAnswer = {
  summary: "the headers of the response are larger than the limit",
  code: Code.ResourceExhausted,
  advice: "Check the node and what stands in front of it: no answer needs that much.",
};

export const UNFITTING: BrokenAnswer = {
  summary: "the response does not fit its definitions",
  code: Code.Internal,
  advice: "The node may be of another version; the error's cause says what does not fit.",
};

export const COMPRESSED: BrokenAnswer = {
  summary: "the response is compressed in a way that was not asked for",
  code: Code.Internal,
  advice: "Have the server in front of the node leave responses as they are.",
};

/** The error of a broken answer; `more` says further what was found. */
export function brokenAnswer({ summary, ...options }: BrokenAnswer, more = "", cause?: unknown): ProtocolError {
  return new ProtocolError(`${summary}${more}`, { ...options, cause });
}
