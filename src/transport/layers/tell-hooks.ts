import {
  type DescMessage,
  type DescMethod,
  isMessage,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { HttpBodySchema } from "../../../gen/google/api/httpbody_pb.js";
import type { ClosableTransport } from "../closable.js";
import type { CallInfo, Hooks } from "../hooks.js";
import { methodName } from "../method-name.js";
import { callError } from "./failure.js";
import type { Endpoint } from "./our-errors.js";

/** The number of calls that this process has made, which gives each call its own. */
let calls = 0;

/**
 * Make a transport whose calls are told to hooks.
 *
 * @param transport the transport that makes the calls
 * @param endpoint the name and the URL that hooks and errors give
 * @param hooks the functions to call; an error that one throws ends the call
 * @returns the transport; closing it closes `transport`
 */
export function tellingHooks(transport: ClosableTransport, endpoint: Endpoint, hooks: Hooks): ClosableTransport {
  function begin(method: DescMethod, signal: AbortSignal | undefined) {
    const start = performance.now();
    const name = methodName(method);
    calls += 1;
    const call: CallInfo = { id: calls, method: name, transport: endpoint.name };
    let messages = 0;
    let ended = false;
    const end = (reason?: unknown) => {
      if (ended) {
        return;
      }
      ended = true;
      const error =
        reason === undefined
          ? {}
          : { error: callError(reason, { transport: endpoint.name, method: name, url: endpoint.url, signal }) };
      hooks.onCallEnd?.(call, { durationMs: performance.now() - start, messages, ...error });
    };
    hooks.onCallStart?.(call);
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
    async unary(method, signal, timeoutMs, header, message, contextValues) {
      const call = begin(method, signal);
      const response = await transport
        .unary(method, signal, timeoutMs, header, message, contextValues)
        .catch(call.failed);
      call.received(method.output, response.message);
      call.end();
      return response;
    },

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const call = begin(method, signal);
      const response = await transport
        .stream(method, signal, timeoutMs, header, input, contextValues)
        .catch(call.failed);
      async function* messages() {
        try {
          for await (const message of response.message) {
            call.received(method.output, message);
            yield message;
          }
        } catch (reason) {
          call.failed(reason);
        } finally {
          call.end();
        }
      }
      return { ...response, message: messages() };
    },

    close: () => transport.close(),
  };
}

function sizeOf(desc: DescMessage, message: Message): number {
  return isMessage(message, HttpBodySchema) ? message.data.length : toBinary(desc, message).length;
}
