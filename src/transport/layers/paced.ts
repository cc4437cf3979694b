import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { monotonicMs } from "../../runtime/index.js";
import type { AnyTransport, ClosableTransport } from "../closable.js";
import { isOwnStatus, markOwnStatus } from "../own-status.js";
import { endUnsent } from "./failure.js";
import type { Pace } from "./pace.js";
import { banMs, refusalMs } from "./rate-headers.js";

/** The error of a refusal with the code that gRPC has for it. */
function asTooMany(error: ConnectError): ConnectError {
  const tooMany = new ConnectError(error.rawMessage, Code.ResourceExhausted, error.metadata);
  return isOwnStatus(error) ? markOwnStatus(tooMany) : tooMany;
}

/**
 * Make a transport whose calls keep a pace.
 *
 * @param transport the transport that makes the calls
 * @param pace the pace of the client
 * @param isCounted tells whether nodes count the calls of a method over this transport
 * @returns the transport; closing it fails the calls that wait and closes `transport`
 */
export function paced(
  transport: AnyTransport,
  pace: Pace,
  isCounted: (method: DescMethod) => boolean,
): ClosableTransport {
  /** Send a call in its turn; the time that it waited is taken from its time. */
  async function inTurn<T extends { readonly header: Headers; readonly trailer: Headers }>(
    method: DescMethod,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    contextValues: ContextValues | undefined,
    send: (timeoutMs: number | undefined) => Promise<T>,
  ): Promise<T> {
    const start = monotonicMs();
    const answered = await pace.turn(method, signal, contextValues).catch((reason: unknown) => {
      throw signal?.aborted === true ? endUnsent(signal.reason) : reason;
    });
    const isLimited = timeoutMs !== undefined && timeoutMs > 0;
    const left = isLimited ? Math.max(Math.ceil(timeoutMs - (monotonicMs() - start)), 1) : timeoutMs;
    try {
      const response = await send(left);
      answered(response.header.has("ratelimit-remaining") ? response.header : response.trailer);
      return response;
    } catch (reason) {
      const error = ConnectError.from(reason);
      answered(error);
      if (banMs(error) !== undefined) {
        pace.checkOpen(error); // Throws.
      }
      // Over HTTP the status alone tells, and it stands for another code.
      const isOther = refusalMs(error) !== undefined && error.code !== Code.ResourceExhausted;
      throw isOther ? asTooMany(error) : reason;
    }
  }

  return {
    unary: (method, signal, timeoutMs, header, message, contextValues) =>
      inTurn(method, signal, timeoutMs, contextValues, (left) =>
        transport.unary(method, signal, left, header, message, contextValues),
      ),

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const send = (left: number | undefined) => transport.stream(method, signal, left, header, input, contextValues);
      if (isCounted(method)) {
        return inTurn(method, signal, timeoutMs, contextValues, send);
      }
      pace.checkOpen();
      return send(timeoutMs);
    },

    async close() {
      pace.close();
      await transport.close?.();
    },
  };
}
