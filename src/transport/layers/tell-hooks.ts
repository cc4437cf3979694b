import {
  type DescMessage,
  type DescMethod,
  isMessage,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type ContextValues, createContextValues } from "@connectrpc/connect";
import { HttpBodySchema } from "../../../gen/client/google/api/httpbody_pb.js";
import { monotonicMs } from "../../runtime/index.js";
import { newCallId } from "../call-id.js";
import type { AnyTransport, ClosableTransport } from "../closable.js";
import type { CallInfo, Hooks } from "../hooks.js";
import { methodName } from "../method-name.js";
import { sentTo } from "../sent-to.js";
import { watched } from "../watched.js";
import { callError } from "./failure.js";
import { observing } from "./observing.js";
import type { Endpoint } from "./our-errors.js";

/**
 * Make a transport whose calls are told to hooks.
 *
 * @param transport the transport that makes the calls
 * @param endpoint the name and the URL that hooks and errors give
 * @param given the functions to call; what one throws changes no call
 * @returns the transport; closing it closes `transport`
 */
export function tellingHooks(transport: AnyTransport, endpoint: Endpoint, given: Hooks): ClosableTransport {
  const hooks = observing(given);

  function begin(method: DescMethod, signal: AbortSignal | undefined, contextValues: ContextValues) {
    const start = monotonicMs();
    const name = methodName(method);
    const call: CallInfo = { id: newCallId(contextValues), method: name, transport: endpoint.name };
    let messages = 0;
    let ended = false;
    const end = (reason?: unknown) => {
      if (ended) {
        return;
      }
      ended = true;
      signal?.removeEventListener("abort", aborted);
      const error =
        reason === undefined
          ? {}
          : { error: callError(reason, { transport: endpoint.name, method: name, url: endpoint.url, signal }) };
      const where = sentTo(contextValues);
      hooks.onCallEnd?.(call, {
        durationMs: monotonicMs() - start,
        messages,
        ...error,
        ...(where && { sentTo: where }),
      });
    };
    const aborted = () => end(signal?.reason);
    hooks.onCallStart?.(call);
    signal?.addEventListener("abort", aborted); // The reader of a stream may never ask for its end.
    return {
      received(desc: DescMessage, message: MessageShape<DescMessage>) {
        messages += 1;
        hooks.onBytes?.(call, sizeOf(desc, message));
      },
      end,
      failed(reason: unknown): never {
        end(reason);
        throw reason;
      },
    };
  }

  return {
    async unary(method, signal, timeoutMs, header, message, contextValues = createContextValues()) {
      const call = begin(method, signal, contextValues);
      const response = await transport
        .unary(method, signal, timeoutMs, header, message, contextValues)
        .catch(call.failed);
      call.received(method.output, response.message);
      call.end();
      return response;
    },

    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      const call = begin(method, signal, contextValues);
      const response = await transport
        .stream(method, signal, timeoutMs, header, input, contextValues)
        .catch(call.failed);
      const message = watched(response.message, {
        received: (received) => call.received(method.output, received),
        ended: call.end,
        failed: call.failed,
        async left(messages) {
          call.end();
          await messages.return?.();
        },
      });
      return { ...response, message };
    },

    close: async () => transport.close?.(),
  };
}

function sizeOf(desc: DescMessage, message: Message): number {
  return isMessage(message, HttpBodySchema) ? message.data.length : toBinary(desc, message).length;
}
