// Is compiled as a user's program that imports Connect and Protobuf itself: their types are those of tradewire's declarations.
import { create, createRegistry, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type Code,
  ConnectError,
  createClient as createConnectClient,
  createRouterTransport,
  type Interceptor,
} from "@connectrpc/connect";
import { createClient, NodeError, Code as OurCode } from "tradewire";
import { datanodeApiV2, TradingDataService } from "tradewire/api";
import { createRestTransport, fallback, limited, retrying } from "tradewire/transport";

const { GetOrderRequestSchema } = datanodeApiV2;
const url = "http://127.0.0.1:1";

const observe: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    if (error instanceof ConnectError && error.code === OurCode.NotFound) {
      console.log(error.cause instanceof NodeError, error.findDetails(GetOrderRequestSchema));
    }
    throw error;
  }
};
const registry = createRegistry(GetOrderRequestSchema);
const client = createClient({ grpc: { url } }, { interceptors: [observe], registry });
const init: MessageInitShape<typeof GetOrderRequestSchema> = { orderId: "" };
const request = fromBinary(GetOrderRequestSchema, toBinary(GetOrderRequestSchema, create(GetOrderRequestSchema, init)));
await client.service(TradingDataService).getOrder(request);
await createConnectClient(TradingDataService, client.transport).getOrder(request);

const rest = createRestTransport({ url, interceptors: [observe] });
const own = createRouterTransport(({ service }) => service(TradingDataService, {}));
const either = fallback([
  {
    name: "own",
    transport: limited(retrying(own, { tries: 1, baseMs: 1, maxMs: 1 }), { url, timeouts: { callMs: 1 } }),
  },
  { name: "rest", transport: rest },
]);
const { order } = await createConnectClient(TradingDataService, either).getOrder(request);
console.log(order?.id.length);

export const code: Code = OurCode.NotFound;
