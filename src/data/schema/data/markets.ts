import { seqNum, syntheticTime, type TableFacts, txHash, vegaTime } from "./facts.js";

export const markets: TableFacts = {
  key: ["id", "vega_time"],
  columns: {
    id: { type: "bytea", owner: "market", description: "Identifier of the market" },
    tx_hash: txHash,
    vega_time: vegaTime,
    instrument_id: {
      type: "text",
      nullable: true,
      description: "Identifier of the instrument, which its proposer may leave empty",
    },
    tradable_instrument: {
      type: "jsonb",
      nullable: true,
      description: "Instrument of the market with its product, margin calculator and risk model",
    },
    decimal_places: { type: "int4", nullable: true, description: "Number of decimals of the market's prices" },
    fees: { type: "jsonb", nullable: true, description: "Fee factors and fee settings of the market" },
    opening_auction: { type: "jsonb", nullable: true, description: "Duration and volume of the opening auction" },
    price_monitoring_settings: {
      type: "jsonb",
      nullable: true,
      description: "Price monitoring settings with their triggers",
    },
    liquidity_monitoring_parameters: {
      type: "jsonb",
      nullable: true,
      description: "Parameters of liquidity monitoring",
    },
    trading_mode: { type: "market_trading_mode_type", nullable: true, description: "Trading mode of the market" },
    state: { type: "market_state_type", nullable: true, description: "State of the market" },
    market_timestamps: {
      type: "jsonb",
      nullable: true,
      description: "Times at which the market was proposed, became pending, opened and closed, in Unix nanoseconds",
    },
    position_decimal_places: {
      type: "int4",
      nullable: true,
      description: "Number of decimals of the market's sizes and volumes; may be negative",
    },
    lp_price_range: {
      type: "text",
      nullable: true,
      description: "Price range around the mid price for liquidity orders, as a decimal fraction",
    },
    quadratic_slippage_factor: {
      type: "numeric",
      nullable: true,
      description: "Factor of the squared slippage volume that limits the slippage part of the maintenance margin",
    },
    linear_slippage_factor: {
      type: "numeric",
      nullable: true,
      description: "Factor of the slippage volume that limits the slippage part of the maintenance margin",
    },
    parent_market_id: {
      type: "bytea",
      nullable: true,
      since: 3,
      description: "Identifier of the market that this market succeeds; NULL if there is none",
    },
    insurance_pool_fraction: {
      type: "numeric",
      nullable: true,
      since: 3,
      description: "Fraction of the parent market's insurance pool that the market inherits, from 0 to 1",
    },
    liquidity_sla_parameters: {
      type: "jsonb",
      nullable: true,
      since: 29,
      description: "Parameters of the service level agreement for liquidity providers",
    },
    liquidation_strategy: {
      type: "jsonb",
      nullable: true,
      since: 70,
      description: "Strategy by which the network closes its own position on the market",
    },
    mark_price_configuration: {
      type: "jsonb",
      nullable: true,
      since: 84,
      description: "Configuration of the mark price",
    },
    tick_size: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      since: 94,
      description: "Smallest step of an order's price, in the market's price decimals",
    },
    enable_tx_reordering: {
      type: "bool",
      nullable: true,
      since: 111,
      description: "Whether the network delays aggressive orders on the market by some blocks",
    },
  },
};

export const market_data: TableFacts = {
  key: ["synthetic_time"],
  columns: {
    synthetic_time: syntheticTime,
    tx_hash: txHash,
    vega_time: vegaTime,
    seq_num: seqNum,
    market: { type: "bytea", owner: "market", description: "Identifier of the market" },
    mark_price: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      description: "Mark price, in the market's price decimals",
    },
    best_bid_price: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      description: "Highest price of the buy orders on the book, in the market's price decimals",
    },
    best_bid_volume: {
      type: "hugeint",
      unit: "size",
      nullable: true,
      description: "Volume of the buy orders at the best bid price, in the market's size decimals",
    },
    best_offer_price: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      description: "Lowest price of the sell orders on the book, in the market's price decimals",
    },
    best_offer_volume: {
      type: "hugeint",
      unit: "size",
      nullable: true,
      description: "Volume of the sell orders at the best offer price, in the market's size decimals",
    },
    best_static_bid_price: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      description: "Highest price of the buy orders that are not pegged, in the market's price decimals",
    },
    best_static_bid_volume: {
      type: "hugeint",
      unit: "size",
      nullable: true,
      description:
        "Volume of the buy orders that are not pegged at the best static bid price, in the market's size decimals",
    },
    best_static_offer_price: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      description: "Lowest price of the sell orders that are not pegged, in the market's price decimals",
    },
    best_static_offer_volume: {
      type: "hugeint",
      unit: "size",
      nullable: true,
      description:
        "Volume of the sell orders that are not pegged at the best static offer price, in the market's size decimals",
    },
    mid_price: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      description: "Mean of the best bid and offer prices, in the market's price decimals; 0 without both",
    },
    static_mid_price: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      description: "Mean of the best static bid and offer prices, in the market's price decimals; 0 without both",
    },
    open_interest: {
      type: "hugeint",
      unit: "size",
      nullable: true,
      description: "Sum of all long positions on the market, in the market's size decimals",
    },
    auction_end: {
      type: "int8",
      nullable: true,
      description: "Time at which the current auction ends, in Unix nanoseconds; 0 without an auction",
    },
    auction_start: {
      type: "int8",
      nullable: true,
      description: "Time at which the current auction started, in Unix nanoseconds; 0 without an auction",
    },
    indicative_price: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      description:
        "Price at which an auction would trade if it ended now, in the market's price decimals; 0 without an auction",
    },
    indicative_volume: {
      type: "hugeint",
      unit: "size",
      nullable: true,
      description:
        "Volume that an auction would trade if it ended now, in the market's size decimals; 0 without an auction",
    },
    market_trading_mode: {
      type: "market_trading_mode_type",
      nullable: true,
      description: "Trading mode of the market",
    },
    auction_trigger: {
      type: "auction_trigger_type",
      nullable: true,
      description: "What triggered the current auction",
    },
    extension_trigger: {
      type: "auction_trigger_type",
      nullable: true,
      description: "What extended the current auction",
    },
    target_stake: {
      type: "hugeint",
      unit: "settlement asset",
      nullable: true,
      description: "Liquidity that the market aims at, in the settlement asset's decimals",
    },
    supplied_stake: {
      type: "hugeint",
      unit: "settlement asset",
      nullable: true,
      description: "Liquidity that the providers have committed, in the settlement asset's decimals",
    },
    price_monitoring_bounds: {
      type: "jsonb",
      nullable: true,
      description: "List of the bounds of price monitoring, with the range of valid prices of each",
    },
    market_value_proxy: {
      type: "text",
      unit: "settlement asset",
      nullable: true,
      description: "Estimated value of the market, in the settlement asset's decimals",
    },
    liquidity_provider_fee_shares: {
      type: "jsonb",
      nullable: true,
      description: "List of the liquidity providers' shares in the liquidity fees",
    },
    market_state: { type: "market_state_type", nullable: true, description: "State of the market" },
    next_mark_to_market: {
      type: "timestamptz",
      nullable: true,
      description: "Time of the next mark-to-market settlement",
    },
    market_growth: {
      type: "hugeint",
      nullable: true,
      since: 7,
      description: "Growth of the market in the last window of market values",
    },
    last_traded_price: {
      type: "hugeint",
      unit: "price",
      nullable: true,
      since: 9,
      description: "Price of the last trade, in the market's price decimals",
    },
    product_data: {
      type: "jsonb",
      nullable: true,
      since: 28,
      description: "State of the product, such as the funding data of a perpetual; NULL if it has none",
    },
    liquidity_provider_sla: {
      type: "jsonb",
      nullable: true,
      since: 39,
      description: "List of how well each liquidity provider keeps its commitment",
    },
    next_network_closeout: {
      type: "timestamptz",
      since: 78,
      description: "Time at which the network will next trade to reduce its own position",
    },
    mark_price_type: {
      type: "composite_price_type",
      since: 83,
      description: "Method by which the mark price is computed",
    },
    mark_price_state: {
      type: "jsonb",
      nullable: true,
      since: 89,
      description: "Sources of the mark price with their current prices",
    },
  },
};

export const liquidity_provisions: TableFacts = {
  key: ["id", "vega_time"],
  columns: {
    id: { type: "bytea", description: "Identifier of the liquidity provision" },
    party_id: { type: "bytea", owner: "party", nullable: true, description: "Public key of the liquidity provider" },
    created_at: { type: "timestamptz", description: "Time at which the provision was created" },
    updated_at: { type: "timestamptz", description: "Time at which the provision was last updated" },
    market_id: { type: "bytea", owner: "market", nullable: true, description: "Identifier of the market" },
    commitment_amount: {
      type: "hugeint",
      unit: "settlement asset",
      anySize: true,
      nullable: true,
      description: "Amount that the provider has committed, in the settlement asset's decimals",
    },
    fee: {
      type: "numeric(1000,16)",
      nullable: true,
      description: "Fee factor that the provider proposes, such as 0.0005 for 0.05%",
    },
    sells: {
      type: "jsonb",
      nullable: true,
      description: "List of the sell orders of the provision; empty on markets without such orders",
    },
    buys: {
      type: "jsonb",
      nullable: true,
      description: "List of the buy orders of the provision; empty on markets without such orders",
    },
    version: { type: "int8", nullable: true, description: "Version of the provision, from 1" },
    status: { type: "liquidity_provision_status", description: "Status of the provision" },
    reference: { type: "text", nullable: true, description: "Reference that the provider has given to the provision" },
    tx_hash: txHash,
    vega_time: vegaTime,
  },
};
