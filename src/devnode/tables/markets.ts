import {
  between,
  blockTime,
  column,
  decimal,
  freeText,
  hash,
  later,
  oneOf,
  pick,
  sequence,
  syntheticTime,
  type TableDefinition,
  transaction,
} from "./column.js";
import {
  account,
  asset,
  auctionTrigger,
  COUNT,
  EPOCH_BLOCKS,
  inAuction,
  market,
  marketDecimals,
  marketState,
  party,
  settlementAsset,
  tradingMode,
} from "./entities.js";
import { tradePrice } from "./trading.js";

const instrument = pick(["BTC/USD", "ETH/USD", "SOL/USD", "DOGE/USD"]);
/** The number of the market's last trade: there are two trades in a block, and each market has every twelfth. */
const lastTrade = `2 * n + 1 - (n + 1) % ${COUNT.market}`;

export const markets: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("id", "bytea", market),
    ...transaction,
    column("instrument_id", "text", instrument),
    column(
      "tradable_instrument",
      "jsonb",
      `jsonb_build_object('instrument', jsonb_build_object('name', ${instrument} || ' future, the "M' || n % 12 || '"',
        'code', 'M' || n % 12, 'metadata', jsonb_build_object('tags', jsonb_build_array('class:fx', 'quote:"USD"')),
        'future', jsonb_build_object('quoteName', 'USD', 'settlementAsset', encode(${settlementAsset}, 'hex'))),
        'marginCalculator', jsonb_build_object('scalingFactors',
          jsonb_build_object('searchLevel', 1.1, 'initialMargin', 1.5, 'collateralRelease', 1.7)),
        'simpleRiskModel', jsonb_build_object('params', jsonb_build_object('factorLong', 0.1, 'factorShort', 0.1)))`,
    ),
    column("decimal_places", "integer", marketDecimals),
    column(
      "fees",
      "jsonb",
      `jsonb_build_object('factors', jsonb_build_object('makerFee', '0.0002', 'liquidityFee', '0.001'))`,
    ),
    column("opening_auction", "jsonb", `jsonb_build_object('duration', '300', 'volume', (n % 9)::text)`),
    column("price_monitoring_settings", "jsonb", `'{"parameters": {"triggers": []}}'`),
    column("liquidity_monitoring_parameters", "jsonb", `'{"targetStakeParameters": {"timeWindow": "3600"}}'`),
    column("trading_mode", "text", tradingMode),
    column("state", "text", marketState),
    column("market_timestamps", "jsonb", `jsonb_build_object('open', (1697702400000000000 + h)::text)`),
    column("position_decimal_places", "integer", "n % 4"),
    column("lp_price_range", "numeric", decimal(5, 90, 2)),
    column("linear_slippage_factor", "numeric", decimal(1, 100, 3)),
    column("quadratic_slippage_factor", "numeric", "0"),
    column("parent_market_id", "bytea", `CASE WHEN n % 3 = 0 THEN ${oneOf("market", COUNT.market, "n + 1")} END`),
    column("insurance_pool_fraction", "numeric", decimal(0, 100, 2)),
    column("rationale", "text", freeText()),
  ],
};

export const market_data: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    syntheticTime,
    ...transaction,
    sequence,
    column("market", "bytea", market),
    column("mark_price", "numeric", between(2_650_000, 40_000)),
    column("best_bid_price", "numeric", between(2_649_000, 40_000)),
    column("best_bid_volume", "bigint", between(1, 5_000)),
    column("best_offer_price", "numeric", between(2_651_000, 40_000)),
    column("best_offer_volume", "bigint", between(1, 6_000)),
    column("mid_price", "numeric", between(2_650_000, 40_000)),
    column("static_mid_price", "numeric", between(2_650_000, 39_000)),
    column("open_interest", "bigint", between(10_000, 90_000)),
    column("auction_start", "bigint", `CASE WHEN ${inAuction} THEN 1697702400000000000 + h ELSE 0 END`),
    column("auction_end", "bigint", `CASE WHEN ${inAuction} THEN 1697702700000000000 + h ELSE 0 END`),
    column("indicative_price", "numeric", "0"),
    column("indicative_volume", "bigint", "0"),
    column("market_trading_mode", "text", tradingMode),
    column("auction_trigger", "text", auctionTrigger),
    column("target_stake", "numeric", decimal(1_000, 900_000, 5)),
    column("supplied_stake", "numeric", decimal(2_000, 900_000, 5)),
    column(
      "price_monitoring_bounds",
      "jsonb",
      `jsonb_build_array(jsonb_build_object('minValidPrice', '26000', 'horizon', n % 60))`,
    ),
    column("market_state", "text", marketState),
    column("last_traded_price", "numeric", tradePrice(lastTrade)),
  ],
};

export const positions: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("market_id", "bytea", market),
    column("party_id", "bytea", party),
    column("open_volume", "bigint", `${between(0, 2_000)} - 1000`),
    column("realised_pnl", "numeric", `${decimal(0, 9_000_000, 4)} - 450`),
    column("unrealised_pnl", "numeric", `${decimal(0, 8_000_000, 4)} - 400`),
    column("average_entry_price", "numeric", decimal(26_000_000, 900_000, 3)),
    column("average_entry_market_price", "numeric", decimal(26_000_000, 900_000, 3)),
    column("loss", "numeric", decimal(0, 500, 2)),
    column("adjustment", "numeric", decimal(0, 50, 2)),
    column("distressed_status", "text", pick(["POSITION_STATUS_UNSPECIFIED", "POSITION_STATUS_ORDERS_CLOSED"])),
    ...transaction,
  ],
};

export const margin_levels: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("account_id", "bytea", account),
    column(
      "order_margin_account_id",
      "bytea",
      `CASE WHEN n % 2 = 0 THEN ${oneOf("account", COUNT.account, "n + 1")} END`,
    ),
    column("timestamp", "timestamptz", blockTime),
    column("maintenance_margin", "numeric", between(1_000, 90_000)),
    column("search_level", "numeric", between(1_100, 99_000)),
    column("initial_margin", "numeric", between(1_500, 120_000)),
    column("collateral_release_level", "numeric", between(2_000, 150_000)),
    column("order_margin", "numeric", between(0, 9_000)),
    column("margin_mode", "text", pick(["MARGIN_MODE_CROSS_MARGIN", "MARGIN_MODE_ISOLATED_MARGIN"])),
    column("margin_factor", "numeric", decimal(0, 1_000, 3)),
    ...transaction,
    syntheticTime,
  ],
};

export const liquidity_provisions: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("id", "bytea", hash("liquidity_provision", "n / 4")),
    column("party_id", "bytea", party),
    column("created_at", "timestamptz", blockTime),
    column("updated_at", "timestamptz", later(30)),
    column("market_id", "bytea", market),
    column("commitment_amount", "numeric", between(1_000_000, 9_000_000)),
    column("fee", "numeric", decimal(1, 90, 4)),
    column("sells", "jsonb", `'[]'`),
    column("buys", "jsonb", `jsonb_build_array(jsonb_build_object('reference', 'BEST_BID', 'proportion', n % 20))`),
    column("version", "bigint", "n % 4 + 1"),
    column("status", "text", pick(["STATUS_ACTIVE", "STATUS_PENDING", "STATUS_CANCELLED"])),
    column("reference", "text", freeText(2)),
    ...transaction,
  ],
};

export const rewards: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("party_id", "bytea", party),
    column("asset_id", "bytea", asset),
    column("market_id", "bytea", market),
    column("epoch_id", "bigint", `h / ${EPOCH_BLOCKS}`),
    column("amount", "numeric", between(1, 90_000_000)),
    column("percent_of_total", "double precision", `(${between(1, 10_000)}) / 8.0`),
    column("reward_type", "text", pick(["ACCOUNT_TYPE_GLOBAL_REWARD", "ACCOUNT_TYPE_REWARD_MAKER_PAID_FEES"])),
    column("timestamp", "timestamptz", blockTime),
    ...transaction,
    sequence,
    column("locked_until_epoch_id", "bigint", `h / ${EPOCH_BLOCKS} + 30`),
    column("quantum_amount", "numeric", decimal(1, 9_000_000, 6)),
    column("game_id", "bytea", `CASE WHEN n % 4 = 0 THEN ${oneOf("game", 7)} END`),
    column("team_name", "text", freeText(7)),
  ],
};
