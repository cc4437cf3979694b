/** A program that reads a stream, and has nothing else that keeps it alive: `URL TRANSPORT`. */

import { createClient, TradewireError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";

const [, , url = "", transport] = process.argv;
const client = createClient({ transport: transport === "grpc" ? "grpc" : "grpc-js", grpc: { url } });
try {
  for await (const _ of client.service(TradingDataService).observeMarketsData({})) {
    console.log("a message");
  }
} catch (reason) {
  console.log(reason instanceof TradewireError ? `${reason.name}: ${reason.summary}` : reason);
} finally {
  console.log("finally");
}
