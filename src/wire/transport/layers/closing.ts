import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ConnectionError } from "../../../base/errors/index.js";
import { type LazyController, onAbort } from "../../../base/signal/abort.js";
import { createActiveSet } from "../../../base/signal/collections.js";
import { type AnyCall, layered } from "../layered.js";
import { handleStream } from "../message-streams.js";
import { methodName } from "../method.js";
import type { AnyTransport, ClosableTransport } from "../transport-types.js";

/**
 * Returns a transport that closes immediately: calls in flight fail with an error that says so, and later calls are rejected.
 *
 * @param transport the transport that makes the calls
 * @param name the transport's name in the configuration, for errors
 * @param newController creates the controller of each call; by default Node's own, because not every transport accepts
 *   another kind of signal
 * @returns the transport; closing it a second time does nothing
 */
export function closing(
  transport: AnyTransport,
  name: string,
  newController: () => LazyController = () => new AbortController(),
): ClosableTransport {
  const callsInFlight = createActiveSet<() => void>();
  let closed: Promise<void> | undefined;

  function begin({ method, signal }: AnyCall) {
    if (closed !== undefined) {
      throw closedError("the client is closed, so nothing was sent", false, name, method);
    }
    const abort = newController();
    /** Rejects what the reader of the call waits for; `undefined` while it waits for nothing. */
    let rejectPending: ((reason: unknown) => void) | undefined;
    const abortCall = () => {
      abort.abort(signal?.reason);
      doneIfAbandoned();
    };
    const stopListening = onAbort(signal, abortCall); // A signal may outlive thousands of calls.
    const close = () => {
      const reason = closedError("the client was closed during the call", true, name, method);
      done();
      abort.abort(reason);
      rejectPending?.(reason);
    };
    const done = () => {
      remove();
      stopListening();
    };
    /** A reader that has aborted a call, for example with `break`, may never ask for its end. */
    const doneIfAbandoned = () => {
      if (abort.signal.aborted && rejectPending === undefined) {
        done();
      }
    };
    const remove = callsInFlight.add(close);
    if (signal?.aborted === true) {
      abort.abort(signal.reason);
    }
    return {
      signal: abort.signal,
      done,
      /** Ends a call whose response is not read to its end. */
      abandon() {
        done();
        abort.abort(new ConnectError("the rest of the response is not read", Code.Canceled));
      },
      /** Waits for a promise; rejects if the client is closed before. */
      whileOpen<T>(promise: Promise<T>): Promise<T> {
        return new Promise<T>((resolve, reject) => {
          rejectPending = reject;
          const settle = () => {
            rejectPending = rejectPending === reject ? undefined : rejectPending;
            doneIfAbandoned();
          };
          promise.then(
            (value) => {
              settle();
              resolve(value);
            },
            (reason: unknown) => {
              settle();
              reject(reason);
            },
          );
          if (abort.signal.aborted && closed !== undefined) {
            reject(abort.signal.reason);
          }
        });
      },
    };
  }

  return layered(transport, {
    async unary(call, next) {
      const { signal, whileOpen, done } = begin(call);
      try {
        return await whileOpen(next({ ...call, signal }));
      } finally {
        done();
      }
    },

    async stream(call, next) {
      const { signal, whileOpen, done, abandon } = begin(call);
      const onError = (reason: unknown): never => {
        done();
        throw reason;
      };
      const response = await whileOpen(next({ ...call, signal })).catch(onError);
      const message = handleStream(response.message, {
        next: (messages) => whileOpen(messages.next()),
        onEnd: done,
        onError,
        async onReturn(messages) {
          abandon();
          await messages.return?.();
        },
      });
      return { ...response, message };
    },

    close() {
      closed ??= Promise.resolve(transport.close?.());
      for (const close of callsInFlight.list()) {
        close();
      }
      return closed;
    },
  });
}

function closedError(summary: string, connected: boolean, transport: string, method: DescMethod): ConnectError {
  const advice = "Close a client after its calls have ended, and create another one for more calls.";
  const cause = new ConnectionError(summary, {
    code: Code.Canceled,
    advice,
    connected,
    isClosed: true,
  });
  cause.transport = transport;
  cause.method = methodName(method);
  return new ConnectError(summary, cause.code, undefined, undefined, cause);
}
