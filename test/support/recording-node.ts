import { type DescMethod, type DescService, fromBinary, isMessage, type Message, toJson } from "@bufbuild/protobuf";
import { createClient as createConnectClient, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService, SubmitTransactionRequestSchema } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { knownTypes } from "./any.js";
import { serveNodeOf, type TestNode } from "./node.js";

/** A node that passes calls on to another one, and notes what it was asked. */
export interface RecordingNode extends TestNode {
  /** Returns what was asked since the last call of this function: each different request once, in JSON. */
  takeRequests(): readonly string[];
  /** The value of the header `x-client` of the requests that are noted; those of earlier clients may still arrive. */
  client: string | null;
  /** Called with each request before it is passed on. */
  onRequest: (method: string) => void | Promise<void>;
}

/** Starts a node that passes calls on. */
export async function startRecordingNode(url: string): Promise<RecordingNode> {
  const transport = createGrpcTransport({ baseUrl: url });
  const seen = new Set<string>();
  const hooks: Pick<RecordingNode, "takeRequests" | "client" | "onRequest"> = {
    takeRequests() {
      const requests = [...seen].sort();
      seen.clear();
      return requests;
    },
    client: null,
    onRequest: () => undefined,
  };
  const note = async (method: DescMethod, request: Message, { requestHeader }: HandlerContext) => {
    if (requestHeader.get("x-client") !== hooks.client) {
      return;
    }
    seen.add(`${method.name} ${JSON.stringify(readable(method, request))}`);
    await hooks.onRequest(method.name);
  };

  function implementationOf<S extends DescService>(service: S): Partial<ServiceImpl<S>> {
    const client = createConnectClient(service, transport);
    const methods: Partial<ServiceImpl<S>> = {};
    for (const method of service.methods) {
      const call: unknown = Reflect.get(client, method.localName);
      if (typeof call !== "function") {
        continue;
      }
      const passOn =
        method.methodKind === "unary"
          ? async (request: Message, context: HandlerContext) => {
              await note(method, request, context);
              return call(request, { signal: context.signal });
            }
          : async function* (request: Message | AsyncIterable<Message>, context: HandlerContext) {
              const { signal } = context;
              if (Symbol.asyncIterator in request) {
                yield* call(notedEach(method, request, context), { signal });
              } else {
                await note(method, request, context);
                yield* call(request, { signal });
              }
            };
      Reflect.set(methods, method.localName, passOn);
    }
    return methods;
  }

  async function* notedEach(method: DescMethod, requests: AsyncIterable<Message>, context: HandlerContext) {
    for await (const request of requests) {
      await note(method, request, context);
      yield request;
    }
  }

  const node = await serveNodeOf((router) => {
    router.service(CoreService, implementationOf(CoreService));
    router.service(CoreStateService, implementationOf(CoreStateService));
    router.service(TradingDataService, implementationOf(TradingDataService));
  });
  return Object.assign(hooks, node);
}

/** The request in JSON. Of a transaction, only what its sender chose: neither nonces nor the block. */
function readable({ input }: DescMethod, request: Message): unknown {
  if (!isMessage(request, SubmitTransactionRequestSchema)) {
    return toJson(input, request, { registry: knownTypes });
  }
  const { inputData = new Uint8Array(), from } = request.tx ?? {};
  const { command } = fromBinary(InputDataSchema, inputData.subarray(inputData.indexOf(0) + 1));
  const field = InputDataSchema.fields.find(({ localName }) => localName === command.case);
  const content =
    field?.message === undefined || command.value === undefined ? {} : toJson(field.message, command.value);
  return { key: from?.value, command: command.case, content };
}
