import { type ClientHttp2Stream, constants, type OutgoingHttpHeaders } from "node:http2";
import { ConnectError } from "@connectrpc/connect";
import { CUT_SHORT } from "../../errors/broken-answer.js";
import { connectError } from "../bare-call.js";
import { brokenAnswerError, CallError } from "../call-failure.js";
import { limitInterim } from "../interim-answers.js";
import type { MessageCall } from "../message-call.js";
import { type Answer, addFields, failureIn, readHeader } from "./answer.js";
import { createFrameReader, frameOf, HEAD_SIZE } from "./frames.js";
import { whenNeverBegun } from "./stream-end.js";

/** How many bytes of frames are taken from a stream before they are asked for. */
const AHEAD_BYTES = 64 * 1024;

/** How often a call is begun at most, where each connection is closed before anything of the call has left. */
const MOST_BEGINNINGS = 5;

/** How a call is begun and watched. */
export interface CallStart {
  /** Opens the stream, unless `isWanted` has become false. */
  open(headers: OutgoingHttpHeaders, isWanted: () => boolean): Promise<ClientHttp2Stream>;
  readonly headers: OutgoingHttpHeaders;
  /** The largest message that is read, in bytes. */
  readonly maxMessageBytes: number;
  /** Called whenever bytes have come. */
  arrived(stream: ClientHttp2Stream): void;
  /** Called once: when the call is over, and its end was read. */
  onEnd(): void;
}

/**
 * Start a call over HTTP/2. Messages that came before a failure are read before it.
 *
 * @param start how the call is begun
 * @returns the call
 */
export function startCall({ open, headers, maxMessageBytes, arrived, onEnd }: CallStart): MessageCall {
  let stream: ClientHttp2Stream | undefined;
  let beginnings = 0;
  const trailer = new Headers();
  const answer: Answer = { header: undefined, trailer, isFollowed: false, hasBody: false, isWhole: false };
  /** Messages that nobody has asked for yet, how many were taken of them, and the size of the others in frames. */
  let messages: Uint8Array[] = [];
  let taken = 0;
  let aheadBytes = 0;
  /** How the call has ended, and whether its end was read. */
  let outcome: { readonly error?: ConnectError | undefined } | undefined;
  let isEndRead = false;
  let waiting: (() => void)[] = [];
  const frames = createFrameReader(maxMessageBytes, (message) => {
    messages.push(message);
    aheadBytes += HEAD_SIZE + message.length; // An empty message takes room too.
    if (waiting.length > 0) {
      changed();
    } else if (aheadBytes >= AHEAD_BYTES) {
      stream?.pause();
    }
  });

  function changed(): void {
    const woken = waiting;
    waiting = [];
    for (const wake of woken) {
      wake();
    }
  }

  const change = () => new Promise<void>((resolve) => waiting.push(resolve));

  function finish(error?: ConnectError): void {
    if (outcome !== undefined) {
      return;
    }
    outcome = { error };
    if (error !== undefined || stream?.writableFinished === false) {
      stream?.close(error === undefined ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL);
    }
    changed();
  }

  function endRead(): void {
    if (!isEndRead) {
      isEndRead = true;
      onEnd();
    }
  }

  /** Finish with the status that the answer holds, or lacks. */
  function finishWithStatus(): void {
    const error = failureIn(answer);
    const isCut = error === undefined && frames.isInside;
    finish(isCut ? brokenAnswerError(CUT_SHORT) : error);
  }

  function take(bytes: Uint8Array): void {
    answer.isFollowed = true;
    answer.hasBody ||= bytes.length > 0;
    if (outcome !== undefined) {
      return;
    }
    try {
      frames.push(bytes);
    } catch (reason) {
      finish(ConnectError.from(reason));
    }
  }

  function attach(opened: ClientHttp2Stream): void {
    stream = opened;
    if (outcome !== undefined) {
      opened.close(constants.NGHTTP2_CANCEL); // The call was ended in the moment in which the stream was opened.
      return;
    }
    const tell = () => arrived(opened);
    whenNeverBegun(opened, () => {
      if (beginnings < MOST_BEGINNINGS) {
        opening = begin();
      }
    });
    limitInterim(opened);
    opened.once("response", (fields, flags) => {
      tell();
      try {
        answer.header = readHeader(fields);
      } catch (reason) {
        finish(ConnectError.from(reason));
      }
      if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) {
        answer.isWhole = true;
        finishWithStatus();
      }
      changed();
    });
    opened.once("trailers", (fields) => {
      tell();
      addFields(trailer, fields);
      answer.isFollowed = true;
      answer.isWhole = true;
    });
    const received = (bytes: Uint8Array) => {
      tell();
      take(bytes);
    };
    opened.on("data", received);
    /** Take what Node holds of a stream that is lost: it gives that to no listener. */
    const takeRest = () => {
      opened.off("data", received);
      for (let bytes: unknown = opened.read(); bytes instanceof Uint8Array; bytes = opened.read()) {
        take(bytes);
      }
    };
    opened.once("end", () => {
      // A stream that was reset, or whose connection was lost, ends as one that was not; why is known when it closes.
      const isConnected = opened.session?.destroyed === false;
      if (answer.isWhole || (answer.header !== undefined && !isReset(opened) && isConnected)) {
        finishWithStatus();
      }
    });
    const over = (reason?: Error) => {
      if (stream !== opened) {
        return; // Another one has taken its place.
      }
      takeRest();
      if (!answer.isWhole && (reason !== undefined || isReset(opened))) {
        finish(failureOf(opened, reason));
      }
      finishWithStatus();
    };
    opened.on("error", over);
    opened.once("close", () => over());
  }

  function begin(): Promise<void> {
    beginnings += 1;
    stream = undefined;
    return open(headers, () => outcome === undefined).then(attach, (reason) => finish(connectError(reason)));
  }

  let opening = begin();

  /** Send something over the stream, and once more where that has never begun. Resolves to whether the call goes on. */
  async function send(over: (open: ClientHttp2Stream, done: () => void) => void): Promise<boolean> {
    for (;;) {
      await opening;
      const open = stream;
      if (outcome !== undefined || open?.writable !== true) {
        return false;
      }
      await new Promise<void>((resolve) => over(open, resolve));
      if (stream === open) {
        return outcome === undefined;
      }
    }
  }

  return {
    trailer,

    async header() {
      while (answer.header === undefined && outcome === undefined) {
        await change();
      }
      if (outcome?.error !== undefined) {
        endRead();
        throw outcome.error;
      }
      return answer.header ?? new Headers();
    },

    async read() {
      for (;;) {
        const message = messages[taken];
        if (message !== undefined) {
          taken += 1;
          aheadBytes -= HEAD_SIZE + message.length;
          if (taken === messages.length) {
            messages = [];
            taken = 0;
          }
          if (aheadBytes < AHEAD_BYTES && stream?.isPaused() === true) {
            stream.resume();
          }
          return message;
        }
        if (outcome !== undefined) {
          endRead();
          if (outcome.error !== undefined) {
            throw outcome.error;
          }
          return undefined;
        }
        await change();
      }
    },

    write: (message) => send((open, done) => open.write(frameOf(message), done)),

    end(message) {
      void send((open, done) => open.end(message === undefined ? undefined : frameOf(message), done));
    },

    fail(error) {
      if (isEndRead) {
        return;
      }
      finish(error);
      outcome = { error };
      messages = [];
      taken = 0;
      stream?.destroy(); // What is unread of an answer that has ended would keep it, and its connection, for ever.
      endRead();
      changed();
    },
  };
}

function isReset({ rstCode }: ClientHttp2Stream): boolean {
  return rstCode !== undefined && rstCode !== constants.NGHTTP2_NO_ERROR;
}

function failureOf(stream: ClientHttp2Stream, reason?: Error & { readonly code?: unknown }): ConnectError {
  const isOfReset = isReset(stream) && (reason === undefined || reason.code === "ERR_HTTP2_STREAM_ERROR");
  return isOfReset
    ? new CallError({ kind: "stream reset", http2Code: stream.rstCode }, { cause: reason })
    : connectError(reason);
}
