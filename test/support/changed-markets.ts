import { isMessage } from "@bufbuild/protobuf";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { type Client, createClient } from "tradewire";
import type { Devnode } from "tradewire/devnode";
import {
  GetLatestMarketDataResponseSchema,
  ListLatestMarketDataResponseSchema,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import type { MarketData } from "tradewire/gen/vega/vega_pb.js";

/** Creates a client of a node whose markets are in another state than those of the local node, such as an auction. */
export function clientOfChangedMarkets(node: Devnode, change: (data: MarketData) => void): Client {
  const transport = createGrpcTransport({
    baseUrl: node.grpcUrl,
    interceptors: [
      (next) => async (request) => {
        const response = await next(request);
        const message: unknown = response.message;
        if (isMessage(message, ListLatestMarketDataResponseSchema)) {
          message.marketsData.forEach(change);
        } else if (isMessage(message, GetLatestMarketDataResponseSchema) && message.marketData !== undefined) {
          change(message.marketData);
        }
        return response;
      },
    ],
  });
  return createClient({ profile: "deployed", chainId: node.chainId, transport: { name: "changed", transport } });
}
