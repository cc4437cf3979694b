import { create, type MessageShape } from "@bufbuild/protobuf";
import { ConnectError, type ContextValues, type Transport } from "@connectrpc/connect";
import type { RequestError } from "../../errors/index.js";
import type { HeaderInit } from "../bare-call.js";
import type { ClosableTransport } from "../closable.js";
import { methodName } from "../method-name.js";

/** A call before it is sent. */
export interface UnsentCall {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  readonly header: HeaderInit;
  readonly contextValues: ContextValues | undefined;
}

/**
 * Finds out why a request must not be sent.
 *
 * @param request the request's message
 * @param call the call that it belongs to
 * @param transport makes other calls to the same node
 * @returns the error that the call fails with; `undefined` if the request may be sent
 */
export type Refusal = (
  request: unknown,
  call: UnsentCall,
  transport: Transport,
) => Promise<RequestError | undefined> | RequestError | undefined;

/**
 * Creates a transport that does not send some requests.
 *
 * @param transport the transport that makes the calls
 * @param refusals what looks at the requests, by the full name of the method; each request of it is one message
 * @returns the transport. A refused call fails with a Connect error whose cause is the refusal.
 */
export function refusing(transport: ClosableTransport, refusals: ReadonlyMap<string, Refusal>): ClosableTransport {
  async function requireSendable(refuse: Refusal, request: unknown, call: UnsentCall): Promise<void> {
    const refusal = await refuse(request, call, transport);
    if (refusal !== undefined) {
      throw new ConnectError(refusal.summary, refusal.code, undefined, undefined, refusal);
    }
  }

  return {
    async unary(method, signal, timeoutMs, header, message, contextValues) {
      const refuse = refusals.get(methodName(method));
      if (refuse !== undefined) {
        await requireSendable(refuse, create(method.input, message), { signal, timeoutMs, header, contextValues });
      }
      return transport.unary(method, signal, timeoutMs, header, message, contextValues);
    },

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const refuse = refusals.get(methodName(method));
      if (refuse === undefined) {
        return transport.stream(method, signal, timeoutMs, header, input, contextValues);
      }
      const requests: MessageShape<typeof method.input>[] = [];
      for await (const init of input) {
        const request = create(method.input, init);
        await requireSendable(refuse, request, { signal, timeoutMs, header, contextValues });
        requests.push(request);
      }
      return transport.stream(method, signal, timeoutMs, header, eachOf(requests), contextValues);
    },

    close: () => transport.close(),
  };
}

async function* eachOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
