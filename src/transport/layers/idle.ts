import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { createLinkedAbortController } from "@connectrpc/connect/protocol";
import { ConnectionError } from "../../errors/index.js";
import { isHttpBody } from "../../json/message.js";
import { monotonicMs, startAwakeTimer } from "../../runtime/index.js";
import { onArrival } from "../arrival.js";
import type { AnyTransport, ClosableTransport } from "../closable.js";
import { watched } from "../watched.js";

/** The longest time in which nothing of a download comes, where no other is given, in milliseconds. */
const DOWNLOAD_IDLE_MS = 60_000;

/**
 * Make a transport whose streams end where nothing comes for too long, or where they are no longer read. Only the time
 * that the reader waits counts, and every byte begins it anew where the transport tells of bytes.
 *
 * @param transport the transport that makes the calls
 * @param givenMs the longest time in which nothing comes, in milliseconds; by default 60 000 for streams of
 *   `google.api.HttpBody`, which are downloads, and none for others: what is observed may be quiet
 * @returns the transport; closing it closes `transport`
 */
export function idleLimited(transport: AnyTransport, givenMs: number | undefined): ClosableTransport {
  return {
    unary: (...call) => transport.unary(...call),

    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      const idleMs = givenMs ?? (isHttpBody(method.output) ? DOWNLOAD_IDLE_MS : undefined);
      const abort = createLinkedAbortController(signal);
      const clock = idleClock(idleMs, (limitMs) => abort.abort(nothingCame(limitMs)));
      onArrival(contextValues, clock.arrived);
      abort.signal.addEventListener("abort", clock.stop); // The reader of an aborted stream may never ask for its end.
      const end = () => abort.abort();
      const failed = (reason: unknown): never => {
        end();
        throw reason;
      };
      const response = await transport
        .stream(method, abort.signal, timeoutMs, header, input, contextValues)
        .catch(failed);
      clock.pause();
      const message = watched(response.message, {
        next(messages) {
          clock.restart();
          return messages.next();
        },
        received: clock.pause,
        ended: end,
        failed,
        left: end,
      });
      return { ...response, message };
    },

    close: async () => transport.close?.(),
  };
}

/** A clock that runs from now, if at all. One timer serves all restarts, for there may be many. */
function idleClock(idleMs: number | undefined, onIdle: (idleMs: number) => void): IdleClock {
  return idleMs === undefined ? NO_CLOCK : startClock(idleMs, () => onIdle(idleMs));
}

interface IdleClock {
  restart(): void;
  /** Restarts the clock where it runs: bytes may come while the reader is busy. */
  arrived(): void;
  pause(): void;
  stop(): void;
}

const NONE = () => undefined;
const NO_CLOCK: IdleClock = { restart: NONE, arrived: NONE, pause: NONE, stop: NONE };

function startClock(idleMs: number, onIdle: () => void): IdleClock {
  let since: number | undefined = monotonicMs();
  // What comes while this process is blocked is read after it.
  let stopTimer = startAwakeTimer(check, idleMs, { ref: false }); // The connection keeps the process alive.
  function check(): void {
    const silentMs = since === undefined ? 0 : monotonicMs() - since;
    if (silentMs >= idleMs) {
      onIdle();
    } else {
      stopTimer = startAwakeTimer(check, Math.ceil(idleMs - silentMs), { ref: false });
    }
  }
  return {
    restart() {
      since = monotonicMs();
    },
    arrived() {
      since = since === undefined ? undefined : monotonicMs();
    },
    pause() {
      since = undefined;
    },
    stop() {
      stopTimer();
    },
  };
}

function nothingCame(idleMs: number): ConnectError {
  const cause = new ConnectionError(`nothing came for ${idleMs} ms`, {
    code: Code.DeadlineExceeded,
    advice: "Allow more time (timeouts.idleMs), or check why the node is slow.",
    connected: true,
  });
  return new ConnectError(cause.summary, cause.code, undefined, undefined, cause);
}
