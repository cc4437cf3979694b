import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { Asset_Status, type AssetSchema } from "../../../gen/vega/assets_pb.js";
import { createConditions, identifier } from "./conditions.js";
import { findRow } from "./find-row.js";
import { idKey, type Listing, readPage } from "./page.js";
import { type Row, readRow } from "./row.js";

const assets: Listing = { from: ["asset"], key: [idKey] };

/** The assets of the local node. The last one is the network's own token, which the parameter `reward.asset` names. */
export const ASSETS: readonly {
  readonly id?: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  /** The smallest amount that counts, about one US dollar, in units of the last decimal. */
  readonly quantum: string;
}[] = [
  { name: "Tether USD", symbol: "USDT", decimals: 6, quantum: "1000000" },
  { name: "USD Coin", symbol: "USDC", decimals: 6, quantum: "1000000" },
  { name: "Dai Stablecoin", symbol: "DAI", decimals: 18, quantum: "1000000000000000000" },
  { name: "Wrapped BTC", symbol: "WBTC", decimals: 8, quantum: "3500" },
  { name: "Wrapped Ether", symbol: "WETH", decimals: 18, quantum: "600000000000000" },
  {
    id: "d1984e3d365faa05bcafbe41f50f90e3663ee7c0da22bb1e24b164e9532691b2",
    name: "VEGA (local)",
    symbol: "VEGA",
    decimals: 18,
    quantum: "1000000000000000000",
  },
];

/**
 * Implement the methods for assets.
 *
 * @param pg the database that holds the table
 * @returns the methods of the data service that list assets and get one
 */
export function assetMethods(pg: PGlite): Pick<ServiceImpl<typeof TradingDataService>, "listAssets" | "getAsset"> {
  const find = async (id: string) => findRow(pg, "asset WHERE id = $1", [identifier(id)], `asset ${id}`);
  return {
    async listAssets({ assetId = "", pagination }) {
      const { oneOf, build } = createConditions();
      if (assetId !== "") {
        oneOf("id", "text", [readRow(await find(assetId)).text("id")]);
      }
      return { assets: await readPage(pg, assets, pagination, assetOf, build()) };
    },

    async getAsset({ assetId }) {
      return { asset: assetOf(await find(assetId)) };
    },
  };
}

/**
 * Convert a row of the table of assets to its message.
 *
 * @param row the row
 * @returns the asset
 */
export function assetOf(row: Row): MessageInitShape<typeof AssetSchema> {
  const { text, integer } = readRow(row);
  return {
    id: text("id"),
    status: Asset_Status.ENABLED,
    details: {
      name: text("name"),
      symbol: text("symbol"),
      decimals: integer("decimals"),
      quantum: text("quantum"),
      source: {
        case: "erc20",
        value: {
          contractAddress: text("contract_address"),
          chainId: "1",
          lifetimeLimit: "0",
          withdrawThreshold: "1",
        },
      },
    },
  };
}
