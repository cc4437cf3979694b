// Calls what a fork has added, over gRPC and over REST: node main.js GRPC_URL REST_URL MARKET_ID
import { createClient } from "tradewire";
import { TradingDataService } from "./gen/datanode/api/v2/trading_data_pb.js";

const [grpcUrl = "http://127.0.0.1:3007", restUrl = "http://127.0.0.1:3008", marketId = "market-1"] =
  process.argv.slice(2);

for (const config of [{ grpc: { url: grpcUrl } }, { rest: { url: restUrl } }]) {
  const client = createClient(config);
  try {
    const node = client.service(TradingDataService);
    const { text, leftAt } = await node.getMarketNote({ marketId });
    const { networkParameter } = await node.getNetworkParameter({ key: "snapshot.interval.length" });
    console.log(`${Object.keys(config)[0]}: "${text}", left at ${leftAt}`);
    console.log(`  ${networkParameter?.key} is ${networkParameter?.value} since block ${networkParameter?.setAtBlock}`);
  } finally {
    await client.close();
  }
}
