// Connect's gRPC transport for Node, as its documentation has it.
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { TradingDataService } from "../../dist/gen/datanode/api/v2/trading_data_pb.js";
import { KEY, makeCalls } from "./support.mjs";

const open = ({ url }) => createClient(TradingDataService, createGrpcTransport({ baseUrl: url }));

export async function bytes(args) {
  let bytes = 0;
  for await (const { data } of open(args).exportNetworkHistory({})) {
    bytes += data.length;
  }
  return bytes;
}

export async function calls(args) {
  const client = open(args);
  return makeCalls(args, () => client.getNetworkParameter(KEY));
}

export async function pages(args) {
  const client = open(args);
  let records = 0;
  for (let after; after !== ""; ) {
    const { orders } = await client.listStopOrders({ pagination: after === undefined ? {} : { after } });
    records += orders.edges.length;
    after = orders.pageInfo.hasNextPage ? orders.pageInfo.endCursor : "";
  }
  return records;
}
