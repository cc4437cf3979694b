import type { ConnectError } from "@connectrpc/connect";
import { type Channel, type Metadata, type StatusObject, status as statusCode } from "@grpc/grpc-js";
import { CUT_SHORT, notOfTheInterface } from "../../errors/broken-answer.js";
import { brokenAnswerError, CallError } from "../call-failure.js";
import type { MessageCall } from "../message-call.js";
import { endedInsideMessage } from "./decoder.js";
import { toHeaders } from "./metadata.js";
import { statusError } from "./status.js";

/**
 * Start a call of a channel. grpc-js reads a message only when the one before it was taken.
 *
 * @param raw the call, as the channel created it
 * @param metadata the request's metadata
 * @param onEnd called once, when the call is over, with its error
 * @param heard called when something of the server has come
 * @returns the call, whose first message may be read
 */
export function startCall(
  raw: ReturnType<Channel["createCall"]>,
  metadata: Metadata,
  onEnd: (error?: ConnectError) => void,
  heard: () => void,
): MessageCall {
  let change = nextChange();
  let header: Headers | undefined;
  let foreignType: string | undefined;
  let message: Uint8Array | undefined;
  let hasMessage = false;
  let outcome: { readonly error?: ConnectError } | undefined;
  const trailer = new Headers();

  function changed(): void {
    const { happen } = change;
    change = nextChange();
    happen();
  }

  function finish(result: { readonly error?: ConnectError }): void {
    outcome = result;
    onEnd(result.error);
    changed();
  }

  function finishWith(status: StatusObject): void {
    for (const [key, value] of toHeaders(status.metadata)) {
      trailer.append(key, value);
      heard();
    }
    if (header === undefined && trailer.has("content-type")) {
      foreignType = foreign(trailer); // The response consists of headers alone.
    }
    if (status.code !== statusCode.OK) {
      const error = statusError(status, header, hasMessage || endedInsideMessage(raw));
      const isHttpStatus = error instanceof CallError && error.failure.kind === "HTTP status";
      finish({ error: foreignType === undefined || isHttpStatus ? error : foreignAnswer(foreignType) });
    } else if (endedInsideMessage(raw)) {
      finish({ error: brokenAnswerError(CUT_SHORT) });
    } else {
      header ??= new Headers(trailer);
      finish(foreignType === undefined ? {} : { error: foreignAnswer(foreignType) });
    }
  }

  raw.start(metadata, {
    onReceiveMetadata(received) {
      heard();
      header = toHeaders(received);
      foreignType = foreign(header);
      changed();
    },
    onReceiveMessage(bytes: Buffer) {
      heard();
      hasMessage = true;
      if (foreignType !== undefined) {
        raw.startRead(); // The end of the call may tell an HTTP status.
      } else if (outcome === undefined) {
        message = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        changed();
      }
    },
    onReceiveStatus(status) {
      if (outcome === undefined) {
        finishWith(status);
      }
    },
  });
  raw.startRead(); // Before the first read, grpc-js buffers all messages that come.

  return {
    trailer,

    async header() {
      for (;;) {
        if (outcome?.error !== undefined) {
          throw outcome.error;
        }
        if (header !== undefined && foreignType === undefined) {
          return header;
        }
        await change.happened;
      }
    },

    async read() {
      for (;;) {
        if (message !== undefined) {
          const taken = message;
          message = undefined;
          raw.startRead();
          return taken;
        }
        if (outcome?.error !== undefined) {
          throw outcome.error;
        }
        if (outcome !== undefined) {
          return undefined;
        }
        await change.happened;
      }
    },

    async write(bytes) {
      let sent = false;
      if (outcome === undefined) {
        const callback = () => {
          sent = true;
          changed();
        };
        raw.sendMessageWithContext({ callback }, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      }
      while (!sent && outcome === undefined) {
        await change.happened;
      }
      return outcome === undefined;
    },

    end(bytes) {
      if (outcome === undefined && bytes !== undefined) {
        raw.sendMessageWithContext({}, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      }
      if (outcome === undefined) {
        raw.halfClose();
      }
    },

    fail(error) {
      if (outcome === undefined) {
        message = undefined;
        finish({ error });
        raw.cancelWithStatus(statusCode.CANCELLED, error.rawMessage);
      }
    },
  };
}

/** The content type of a response that is not gRPC's; undefined for one that is. */
function foreign(header: Headers): string | undefined {
  const type = header.get("content-type") ?? "";
  return /^application\/grpc(?:\+proto)?(?:;|$)/i.test(type) ? undefined : type;
}

const foreignAnswer = (contentType: string): CallError => brokenAnswerError(notOfTheInterface(contentType));

function nextChange(): { readonly happened: Promise<void>; readonly happen: () => void } {
  let happen = () => {};
  const happened = new Promise<void>((resolve) => {
    happen = resolve;
  });
  return { happened, happen };
}
