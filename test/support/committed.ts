import type { Client } from "tradewire";
import { CoreService, TradingDataService } from "tradewire/api";
import { eventually } from "./eventually.js";

/**
 * Wait until listings have all that the chain has executed so far. A data node begins a block, which its time shows, when it has
 * committed all blocks before it (v0.78.0, `processBlock` in datanode/broker/sqlstore_broker.go). Blocks have to go on.
 */
export async function committed(client: Pick<Client, "service">): Promise<void> {
  const { timestamp: executed } = await client.service(CoreService).getVegaTime({});
  await eventually(async () => (await client.service(TradingDataService).getVegaTime({})).timestamp > executed);
}
