import { oneOf, pick } from "./column.js";

/** How many markets, parties, assets and accounts the local node has. Each one is numbered from 0. */
export const COUNT = { market: 12, party: 97, asset: 5, account: 311 } as const;

/** The number of blocks of an epoch. Epoch 0 lacks block 0. */
export const EPOCH_BLOCKS = 600;

/** SQL for the identifiers of a row, as bytes. */
export const market = oneOf("market", COUNT.market);
export const party = oneOf("party", COUNT.party);
export const asset = oneOf("asset", COUNT.asset);
export const account = oneOf("account", COUNT.account);

/** SQL for the asset that a row's market settles in, as bytes. */
export const settlementAsset = oneOf("asset", COUNT.asset, `n % ${COUNT.market}`);

/** SQL for the number of decimals of a row's market. */
export const marketDecimals = `1 + n % ${COUNT.market} % 5`;

/** SQL for the state and the trading mode of a row's market. A market keeps both. */
export const marketState = pick(["STATE_ACTIVE", "STATE_PENDING", "STATE_SUSPENDED", "STATE_SETTLED"]);
export const tradingMode = pick([
  "TRADING_MODE_CONTINUOUS",
  "TRADING_MODE_OPENING_AUCTION",
  "TRADING_MODE_MONITORING_AUCTION",
  "TRADING_MODE_NO_TRADING",
]);

/** SQL for whether a row's market is in an auction, and for why. */
export const inAuction = "n % 4 IN (1, 2)";
export const auctionTrigger = pick([
  "AUCTION_TRIGGER_UNSPECIFIED",
  "AUCTION_TRIGGER_OPENING",
  "AUCTION_TRIGGER_PRICE",
  "AUCTION_TRIGGER_UNSPECIFIED",
]);
