import type { DescMethod } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { Code } from "../../../base/errors/code.js";
import { ConnectionError } from "../../../base/errors/index.js";
import { type LazyController, onAbort } from "../../../base/signal/abort.js";
import { type ActiveSet, createActiveSet } from "../../../base/signal/collections.js";
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
  const callsInFlight = createActiveSet<OpenCall>();
  let closed: Promise<void> | undefined;

  function begin({ method, signal }: AnyCall): OpenCall {
    if (closed !== undefined) {
      throw closedError("the client is closed, so nothing was sent", false, name, method);
    }
    return new OpenCall(signal, newController(), callsInFlight, () =>
      closedError("the client was closed during the call", true, name, method),
    );
  }

  return layered(transport, {
    unary(call, next) {
      let open: OpenCall | undefined;
      try {
        open = begin(call);
        return open.whileOpen(next({ ...call, signal: open.signal }), true);
      } catch (reason) {
        open?.done();
        return Promise.reject(reason);
      }
    },

    async stream(call, next) {
      const open = begin(call);
      const onError = (reason: unknown): never => {
        open.done();
        throw reason;
      };
      const opening = async () => next({ ...call, signal: open.signal });
      const response = await open.whileOpen(opening()).catch(onError);
      const message = handleStream(response.message, {
        next: (messages) => open.whileOpen(messages.next()),
        onEnd: () => open.done(),
        onError,
        async onReturn(messages) {
          open.abandon();
          await messages.return?.();
        },
      });
      return { ...response, message };
    },

    close() {
      closed ??= Promise.resolve(transport.close?.());
      for (const call of callsInFlight.list()) {
        call.close();
      }
      return closed;
    },
  });
}

/** A call in flight: a class, since each call has one, and closures take several times as long. */
class OpenCall {
  private readonly abort: LazyController;
  private readonly closedReason: () => ConnectError;
  private readonly remove: () => void;
  private readonly stopListening: () => void;
  /** Rejects what the reader of the call waits for; `undefined` while it waits for nothing. */
  private rejectPending: ((reason: unknown) => void) | undefined;
  private isClosed = false;

  constructor(
    signal: AbortSignal | undefined,
    abort: LazyController,
    callsInFlight: ActiveSet<OpenCall>,
    closedReason: () => ConnectError,
  ) {
    this.abort = abort;
    this.closedReason = closedReason;
    // A signal may outlive thousands of calls.
    this.stopListening = onAbort(signal, () => {
      abort.abort(signal?.reason);
      this.doneIfAbandoned();
    });
    this.remove = callsInFlight.add(this);
    if (signal?.aborted === true) {
      abort.abort(signal.reason);
    }
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  /** Waits for a promise, after which the call is done if it is the last one; rejects if the client is closed before. */
  whileOpen<T>(promise: Promise<T>, isLast = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.rejectPending = reject;
      promise.then(
        (value) => {
          this.settle(reject, isLast);
          resolve(value);
        },
        (reason: unknown) => {
          this.settle(reject, isLast);
          reject(reason);
        },
      );
      if (this.isClosed) {
        reject(this.signal.reason);
      }
    });
  }

  close(): void {
    const reason = this.closedReason();
    this.isClosed = true;
    this.done();
    this.abort.abort(reason);
    this.rejectPending?.(reason);
  }

  done(): void {
    this.remove();
    this.stopListening();
  }

  /** Ends a call whose response is not read to its end. */
  abandon(): void {
    this.done();
    this.abort.abort(new ConnectError("the rest of the response is not read", Code.Canceled));
  }

  private settle(reject: (reason: unknown) => void, isLast: boolean): void {
    this.rejectPending = this.rejectPending === reject ? undefined : this.rejectPending;
    if (isLast) {
      this.done();
    } else {
      this.doneIfAbandoned();
    }
  }

  /** A reader that has aborted a call, for example with `break`, may never ask for its end. */
  private doneIfAbandoned(): void {
    if (this.signal.aborted && this.rejectPending === undefined) {
      this.done();
    }
  }
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
