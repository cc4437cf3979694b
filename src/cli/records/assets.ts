import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Asset } from "../../../gen/vega/assets_pb.js";
import { TradewireError } from "../../base/errors/index.js";
import type { Client } from "../../index.js";
import { MAX_NAMED } from "../../trade/market/record-names.js";
import { type CommandContext, printable } from "../output.js";

const { listAssets } = TradingDataService.method;

/** The assets of a node, by their identifiers; undefined for those that the node does not list. */
export type Assets = ReadonlyMap<string, Asset | undefined>;

export async function loadAssets(client: Client, signal: AbortSignal): Promise<Assets> {
  const assets = new Map<string, Asset>();
  for await (const { node } of client.records(listAssets, {}, { limit: MAX_NAMED, signal })) {
    assets.set(node.id, node);
  }
  return assets;
}

/**
 * Creates a function that loads the assets of a node when an unknown one occurs, once for each. A node that does not list
 * them is noted, and is no error.
 */
export function createAssets(
  client: Client,
  { signal, notes }: Pick<CommandContext, "signal" | "notes">,
): (assetId: string) => Promise<Assets> {
  const assets = new Map<string, Asset | undefined>();
  return async (assetId) => {
    if (!assets.has(assetId)) {
      assets.set(assetId, undefined);
      try {
        for (const [id, asset] of await loadAssets(client, signal)) {
          assets.set(id, asset);
        }
      } catch (reason) {
        if (signal.aborted || !(reason instanceof TradewireError)) {
          throw reason;
        }
        const note = `the decimals of asset ${assetId} cannot be loaded: ${reason.summary}; its amounts are left out. Use --raw for the integers of the network`;
        notes.write(`tradewire: ${printable(note)}\n`);
      }
    }
    return assets;
  };
}
