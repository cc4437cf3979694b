import { create } from "@bufbuild/protobuf";
import { type Asset, Asset_Status, AssetSchema } from "../../../gen/vega/assets_pb.js";
import { assetId } from "./chain.js";
import { hashOf } from "./numbers.js";

const ASSETS: readonly {
  readonly id?: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: bigint;
  /** The smallest amount that counts, about one US dollar, in units of the last decimal. */
  readonly quantum: string;
}[] = [
  { name: "Tether USD", symbol: "USDT", decimals: 6n, quantum: "1000000" },
  { name: "USD Coin", symbol: "USDC", decimals: 6n, quantum: "1000000" },
  { name: "Dai Stablecoin", symbol: "DAI", decimals: 18n, quantum: "1000000000000000000" },
  { name: "Wrapped BTC", symbol: "WBTC", decimals: 8n, quantum: "3500" },
  { name: "Wrapped Ether", symbol: "WETH", decimals: 18n, quantum: "600000000000000" },
  {
    id: "d1984e3d365faa05bcafbe41f50f90e3663ee7c0da22bb1e24b164e9532691b2",
    name: "VEGA (local)",
    symbol: "VEGA",
    decimals: 18n,
    quantum: "1000000000000000000",
  },
];

/**
 * Make the assets of the local node.
 *
 * @returns the assets; the last one is the network's own token, which the parameter `reward.asset` names
 */
export function madeUpAssets(): Asset[] {
  return ASSETS.map(({ id, ...details }, number) =>
    create(AssetSchema, {
      id: id ?? assetId(number),
      status: Asset_Status.ENABLED,
      details: {
        ...details,
        source: {
          case: "erc20",
          value: {
            contractAddress: `0x${hashOf(`contract:${number}`).slice(0, 40)}`,
            chainId: "1",
            lifetimeLimit: "0",
            withdrawThreshold: "1",
          },
        },
      },
    }),
  );
}
