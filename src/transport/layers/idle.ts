import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { createLinkedAbortController } from "@connectrpc/connect/protocol";
import { ConnectionError } from "../../errors/index.js";
import { onArrival } from "../arrival.js";
import type { AnyTransport, ClosableTransport } from "../closable.js";

/**
 * Make a transport whose streams end where nothing comes for too long. Only the time that the reader waits counts, and
 * every byte begins it anew where the transport tells of bytes.
 *
 * @param transport the transport that makes the calls
 * @param idleMs the longest time in which nothing comes, in milliseconds
 * @returns the transport; closing it closes `transport`
 */
export function idleLimited(transport: AnyTransport, idleMs: number): ClosableTransport {
  return {
    unary: (...call) => transport.unary(...call),

    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      const abort = createLinkedAbortController(signal);
      const clock = idleClock(idleMs, () => abort.abort(nothingCame(idleMs)));
      onArrival(contextValues, clock.restart);
      const end = () => {
        clock.stop();
        abort.abort();
      };
      const failed = (reason: unknown): never => {
        end();
        throw reason;
      };
      const response = await transport
        .stream(method, abort.signal, timeoutMs, header, input, contextValues)
        .catch(failed);
      clock.pause();
      const message = {
        [Symbol.asyncIterator]() {
          const iterator = response.message[Symbol.asyncIterator]();
          return {
            next() {
              clock.restart();
              return iterator.next().then((result) => {
                clock.pause();
                if (result.done === true) {
                  end();
                }
                return result;
              }, failed);
            },
            async return(value?: unknown) {
              end();
              return { done: true as const, value };
            },
          };
        },
      };
      return { ...response, message };
    },

    close: async () => transport.close?.(),
  };
}

/** A clock that runs from now. One timer serves all restarts, for there may be many. */
function idleClock(idleMs: number, onIdle: () => void) {
  let since: number | undefined = performance.now();
  let timer = setTimeout(check, idleMs);
  function check(): void {
    const silentMs = since === undefined ? 0 : performance.now() - since;
    if (silentMs >= idleMs) {
      onIdle();
    } else {
      timer = setTimeout(check, Math.ceil(idleMs - silentMs)).unref();
    }
  }
  timer.unref(); // The connection keeps the process alive.
  return {
    restart() {
      since = performance.now();
    },
    pause() {
      since = undefined;
    },
    stop() {
      clearTimeout(timer);
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
