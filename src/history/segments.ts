import type { Client } from "@connectrpc/connect";
import type { HistorySegment, TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";

/**
 * List the segments of network history that a node holds, oldest first (specification, 4.1).
 *
 * @param client a Connect client of the node's data service
 */
export async function listSegments(
  client: Pick<Client<typeof TradingDataService>, "listAllNetworkHistorySegments">,
  options: { readonly signal?: AbortSignal } = {},
): Promise<HistorySegment[]> {
  const { segments } = await client.listAllNetworkHistorySegments({}, options);
  return segments.toSorted((a, b) => (a.fromHeight < b.fromHeight ? -1 : a.fromHeight > b.fromHeight ? 1 : 0));
}
