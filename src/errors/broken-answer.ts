import { Code } from "@connectrpc/connect";
import { ProtocolError } from "./errors.js";
import { quoted } from "./quoted.js";

/** A fault of an answer. Every transport reports the same fault in the same words. */
export interface BrokenAnswer {
  readonly summary: string;
  readonly code: Code;
  readonly advice: string;
  /** Whether the answer ended early. */
  readonly isCutShort?: boolean;
}

const CHECK_URL = "Check that the URL is the node's own and of this transport: something else may have answered.";

/**
 * The fault of an answer that does not come from a node.
 *
 * @param contentType the answer's `content-type`; empty where it has none
 * @returns the fault
 */
export function notOfTheInterface(contentType: string): BrokenAnswer {
  const found = contentType === "" ? "of no content type" : contentType.split(";", 1)[0]?.trim().toLowerCase();
  return { summary: `the response is ${found}, not of the node's interface`, code: Code.Unknown, advice: CHECK_URL };
}

export const CUT_SHORT: BrokenAnswer = {
  summary: "the response was cut short",
  code: Code.DataLoss,
  advice: "Try again; if it persists, the node or something in front of it cuts answers short.",
  isCutShort: true,
};

/** An answer of one message without its status: its message may be whole. */
export const WITHOUT_STATUS: BrokenAnswer = { ...CUT_SHORT, code: Code.Internal };

/** The code is gRPC's for a call that succeeded without the message that its method has. */
export const EMPTY: BrokenAnswer = {
  summary: "the response is empty",
  code: Code.Unimplemented,
  advice:
    "Try again; if it persists, check that the URL is the node's own and that nothing in front of it changes answers.",
};

/**
 * The fault of an answer to a transaction that neither takes it nor refuses it.
 *
 * @param answer its code, data and log
 * @returns the fault
 */
export function noVerdict({
  code,
  data,
  log,
}: {
  readonly code: number;
  readonly data: string;
  readonly log: string;
}): BrokenAnswer {
  const said = [data, log].filter((text) => text !== "").join("; ");
  const what =
    code === 0
      ? "the response says neither that the node took the transaction nor a known code of a refusal"
      : `the response says that the transaction failed with code ${code}, which is no known refusal`;
  return {
    summary: `${what}${said === "" ? "" : `: ${quoted(said)}`}`,
    code: Code.Unknown,
    advice:
      "Check that the URL is the node's own: something else may have answered, or the node is of another version.",
  };
}

export const SEVERAL: BrokenAnswer = {
  summary: "the response has more than one message",
  code: Code.Unimplemented,
  advice: "The node may be of another version, in which this method streams.",
};

/**
 * A message that is larger than the limit.
 *
 * @param option the limit's name in the configuration
 * @param limit the limit, in bytes, if it is known
 * @param size the size of the message, in bytes, where it is known
 * @returns what is wrong
 */
export function tooLarge(
  option: "limits.maxMessageBytes" | "limits.maxJsonBytes",
  limit: number | undefined,
  size?: number,
): BrokenAnswer {
  const most = limit === undefined ? "the limit" : `the limit of ${limit} bytes`;
  const has = size === undefined ? `more than ${most}` : `${size} bytes, more than ${most}`;
  return {
    summary: "a message is larger than the limit",
    code: Code.ResourceExhausted,
    advice: `It has ${has}. Raise ${option} if the node is right to send that much.`,
  };
}

export const TOO_MANY_ELEMENTS: BrokenAnswer = {
  summary: "a message has more elements than an answer may have, more than a million that are small",
  code: Code.ResourceExhausted,
  advice: "Ask for smaller pages, or check the node: no known answer has so many small elements.",
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

export const NO_SOCKET: BrokenAnswer = {
  summary: "the answer opens no WebSocket",
  code: Code.Unimplemented,
  advice: "Over REST, only a data node streams events. Give the data node's URL, or use gRPC for a core node.",
};

export const BROKEN_HANDSHAKE: BrokenAnswer = {
  summary: NO_SOCKET.summary,
  code: Code.Internal,
  advice: CHECK_URL,
};

export const BROKEN_FRAME: BrokenAnswer = {
  summary: "the WebSocket's frames break its rules",
  code: Code.Internal,
  advice: CHECK_URL,
};

/**
 * Make the error of a broken answer.
 *
 * @param fault the fault; its summary is the beginning of the error's
 * @param more further text for the summary, such as `: HTTP 200`
 * @param cause the error that was thrown underneath, if any
 * @param notes what the summary says in parentheses, such as the URL
 * @returns the error
 */
export function brokenAnswer(
  { summary, ...options }: BrokenAnswer,
  more = "",
  cause?: unknown,
  notes: readonly string[] = [],
): ProtocolError {
  return new ProtocolError(`${summary}${more}`, { ...options, cause, notes, section: "protocolerror-answer" });
}
