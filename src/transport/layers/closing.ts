import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ConnectionError } from "../../errors/index.js";
import { createBag } from "../../signal/bag.js";
import { follow, type OwnController } from "../../signal/follow.js";
import type { AnyTransport, ClosableTransport } from "../closable.js";
import { methodName } from "../method-name.js";
import { watched } from "../watched.js";

/**
 * Make a transport that closes at once: calls under way end with an error that says so, and later ones are refused.
 *
 * @param transport the transport that makes the calls
 * @param name the transport's name in the configuration, for errors
 * @param newController makes the controller of each call; by default Node's own: a signal of another kind is not for
 *   every transport
 * @returns the transport; closing it a second time does nothing
 */
export function closing(
  transport: AnyTransport,
  name: string,
  newController: () => OwnController = () => new AbortController(),
): ClosableTransport {
  const underWay = createBag<() => void>();
  let closed: Promise<void> | undefined;

  function begin(method: DescMethod, signal: AbortSignal | undefined) {
    if (closed !== undefined) {
      throw closedError("the client is closed; nothing was sent", false, name, method);
    }
    const abort = newController();
    let isAwaited = false;
    const abortToo = () => {
      abort.abort(signal?.reason);
      doneIfDropped();
    };
    const leave = follow(signal, abortToo); // A signal may outlive thousands of calls.
    let rejectWaiting = (_: unknown) => {};
    const end = () => {
      const reason = closedError("the client was closed during the call", true, name, method);
      done();
      abort.abort(reason);
      rejectWaiting(reason);
    };
    const done = () => {
      takeOut();
      leave();
    };
    /** Who has aborted a call, as by `break`, may never ask for its end. */
    const doneIfDropped = () => {
      if (abort.signal.aborted && !isAwaited) {
        done();
      }
    };
    const takeOut = underWay.add(end);
    if (signal?.aborted === true) {
      abort.abort(signal.reason);
    }
    return {
      signal: abort.signal,
      done,
      /** Ends a call whose answer nobody reads on. */
      drop() {
        done();
        abort.abort(new ConnectError("the rest of the answer is not read", Code.Canceled));
      },
      /** The promise's outcome, or the failure of a client that is closed before. */
      whileOpen<T>(promise: Promise<T>): Promise<T> {
        isAwaited = true;
        return new Promise<T>((resolve, reject) => {
          rejectWaiting = reject;
          const settled = () => {
            isAwaited = false;
            doneIfDropped();
          };
          promise.then(
            (value) => {
              settled();
              resolve(value);
            },
            (reason: unknown) => {
              settled();
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

  return {
    async unary(method, signal, timeoutMs, header, message, contextValues) {
      const call = begin(method, signal);
      try {
        return await call.whileOpen(transport.unary(method, call.signal, timeoutMs, header, message, contextValues));
      } finally {
        call.done();
      }
    },

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const call = begin(method, signal);
      const failed = (reason: unknown): never => {
        call.done();
        throw reason;
      };
      const response = await call
        .whileOpen(transport.stream(method, call.signal, timeoutMs, header, input, contextValues))
        .catch(failed);
      const message = watched(response.message, {
        next: (messages) => call.whileOpen(messages.next()),
        ended: call.done,
        failed,
        async left(messages) {
          call.drop();
          await messages.return?.();
        },
      });
      return { ...response, message };
    },

    close() {
      closed ??= Promise.resolve(transport.close?.());
      for (const end of underWay.list()) {
        end();
      }
      return closed;
    },
  };
}

function closedError(summary: string, connected: boolean, transport: string, method: DescMethod): ConnectError {
  const advice = "Close a client when its calls have ended, and make a new one for further calls.";
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
