import { type ColumnFacts, seqNum, syntheticTime, type TableFacts, txHash, vegaTime } from "./facts.js";

const peakSize: ColumnFacts = {
  type: "int8",
  unit: "size",
  nullable: true,
  description:
    "Visible size to which an iceberg order is refilled, in the market's size decimals; NULL for other orders",
};

const minimumVisibleSize: ColumnFacts = {
  type: "int8",
  unit: "size",
  nullable: true,
  description:
    "Visible size below which an iceberg order is refilled, in the market's size decimals; NULL for other orders",
};

export const orders: TableFacts = {
  key: ["vega_time", "seq_num"],
  columns: {
    id: { type: "bytea", description: "Identifier of the order" },
    market_id: { type: "bytea", owner: "market", description: "Identifier of the market" },
    party_id: { type: "bytea", owner: "party", description: "Public key of the party that placed the order" },
    side: { type: "int2", code: "vega.Side", description: "Side of the order" },
    price: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      description: "Limit price, in the market's price decimals; 0 for an order without one",
    },
    size: { type: "int8", unit: "size", description: "Size of the order, in the market's size decimals" },
    remaining: {
      type: "int8",
      unit: "size",
      description: "Size that has not traded yet, in the market's size decimals",
    },
    time_in_force: { type: "int2", code: "vega.Order.TimeInForce", description: "How long the order stays active" },
    type: { type: "int2", code: "vega.Order.Type", description: "Type of the order" },
    status: { type: "int2", code: "vega.Order.Status", description: "Status of the order after the event" },
    reference: { type: "text", nullable: true, description: "Reference that the party gave to the order" },
    reason: {
      type: "int2",
      code: "vega.OrderError",
      nullable: true,
      description: "Why the order was rejected or stopped; ORDER_ERROR_UNSPECIFIED or NULL if it was not",
    },
    version: { type: "int4", description: "Version of the order: 1 at first, and one more with each amendment" },
    batch_id: { type: "int4", description: "Number of the market's auction batch in which the order was placed" },
    pegged_offset: {
      type: "hugeint",
      unit: "price",
      anySize: true,
      nullable: true,
      description:
        "Distance of a pegged order's price from its reference, in the market's price decimals; 0 or NULL for other orders",
    },
    pegged_reference: {
      type: "int2",
      code: "vega.PeggedReference",
      nullable: true,
      description: "Price that a pegged order follows; PEGGED_REFERENCE_UNSPECIFIED or NULL for other orders",
    },
    lp_id: {
      type: "bytea",
      nullable: true,
      description: "Identifier of the liquidity provision that the order belongs to; empty or NULL if there is none",
    },
    created_at: { type: "timestamptz", description: "Time at which the order was created" },
    updated_at: {
      type: "timestamptz",
      nullable: true,
      description: "Time at which the order was last amended; 1970 or NULL if it never was",
    },
    expires_at: {
      type: "timestamptz",
      nullable: true,
      description: "Time at which the order expires; 1970 or NULL if it does not",
    },
    tx_hash: txHash,
    vega_time: vegaTime,
    seq_num: seqNum,
    post_only: { type: "bool", description: "Whether the order may only rest on the book and not trade immediately" },
    reduce_only: { type: "bool", description: "Whether the order may only reduce the party's position" },
    reserved_remaining: {
      type: "int8",
      unit: "size",
      nullable: true,
      since: 2,
      description:
        "Size of an iceberg order that the book does not show, in the market's size decimals; NULL for other orders",
    },
    initial_peak_size: { ...peakSize, since: 2, until: 5 },
    minimum_peak_size: { ...minimumVisibleSize, since: 2, until: 5 },
    peak_size: { ...peakSize, since: 6, was: "initial_peak_size" },
    minimum_visible_size: { ...minimumVisibleSize, since: 6, was: "minimum_peak_size" },
  },
};

export const trades: TableFacts = {
  key: ["synthetic_time"],
  columns: {
    synthetic_time: syntheticTime,
    tx_hash: txHash,
    vega_time: vegaTime,
    seq_num: seqNum,
    id: { type: "bytea", description: "Identifier of the trade" },
    market_id: { type: "bytea", owner: "market", description: "Identifier of the market" },
    price: { type: "hugeint", unit: "price", description: "Price of the trade, in the market's price decimals" },
    size: { type: "int8", unit: "size", description: "Size of the trade, in the market's size decimals" },
    buyer: { type: "bytea", owner: "party", description: "Public key of the party that bought" },
    seller: { type: "bytea", owner: "party", description: "Public key of the party that sold" },
    aggressor: {
      type: "int2",
      code: "vega.Side",
      nullable: true,
      description: "Side of the order that caused the trade; SIDE_UNSPECIFIED at the end of an auction",
    },
    buy_order: { type: "bytea", description: "Identifier of the buy order" },
    sell_order: { type: "bytea", description: "Identifier of the sell order" },
    type: { type: "int2", code: "vega.Trade.Type", description: "Type of the trade" },
    ...feesOf(
      { nullable: true },
      {
        maker_fee: "Fee that the % paid to the maker of the trade",
        infrastructure_fee: "Fee that the % paid for the network's infrastructure",
        liquidity_fee: "Fee that the % paid to the liquidity providers",
      },
    ),
    buyer_auction_batch: {
      type: "int8",
      nullable: true,
      description: "Number of the auction batch in which the buy order was placed",
    },
    seller_auction_batch: {
      type: "int8",
      nullable: true,
      description: "Number of the auction batch in which the sell order was placed",
    },
    ...feesOf(
      { since: 31 },
      {
        maker_fee_referral_discount: "Discount on the maker fee that the % got as a referee",
        infrastructure_fee_referral_discount: "Discount on the infrastructure fee that the % got as a referee",
        liquidity_fee_referral_discount: "Discount on the liquidity fee that the % got as a referee",
        maker_fee_volume_discount: "Discount on the maker fee that the % got for its volume",
        infrastructure_fee_volume_discount: "Discount on the infrastructure fee that the % got for its volume",
        liquidity_fee_volume_discount: "Discount on the liquidity fee that the % got for its volume",
      },
    ),
    ...feesOf(
      { since: 116 },
      {
        buy_back_fee: "Fee that the % paid for buying back the governance token",
        treasury_fee: "Fee that the % paid to the network's treasury",
        high_volume_maker_fee: "Fee that the % paid to a maker with high volume",
      },
    ),
  },
};

/** Returns the columns of fees for the buyer and then for the seller, by their names and descriptions for either. */
function feesOf(more: Partial<ColumnFacts>, descriptions: Readonly<Record<string, string>>): TableFacts["columns"] {
  const columns = ["buyer", "seller"].flatMap((side) =>
    Object.entries(descriptions).map(([name, description]): [string, ColumnFacts] => [
      `${side}_${name}`,
      {
        type: "hugeint",
        unit: "asset",
        ...more,
        description: `${description.replace("%", side)}, in the asset's decimals`,
      },
    ]),
  );
  return Object.fromEntries(columns);
}

export const positions: TableFacts = {
  key: ["vega_time", "party_id", "market_id"],
  columns: {
    market_id: { type: "bytea", owner: "market", description: "Identifier of the market" },
    party_id: { type: "bytea", owner: "party", description: "Public key of the party that holds the position" },
    open_volume: {
      type: "int8",
      unit: "size",
      description: "Settled volume of the position, in the market's size decimals; negative if it is short",
    },
    realised_pnl: {
      type: "numeric",
      unit: "settlement asset",
      description: "Realised profit or loss of settled trades, in the settlement asset's decimals",
    },
    unrealised_pnl: {
      type: "numeric",
      unit: "settlement asset",
      description: "Unrealised profit or loss of settled trades, in the settlement asset's decimals",
    },
    average_entry_price: {
      type: "numeric",
      unit: "settlement asset",
      description: "Average entry price of the open volume, in the settlement asset's decimals",
    },
    average_entry_market_price: {
      type: "numeric",
      unit: "price",
      description: "Average entry price of the open volume, in the market's price decimals",
    },
    loss: {
      type: "numeric",
      unit: "settlement asset",
      description:
        "Sum of what loss socialisation took from the party, in the settlement asset's decimals, as a negative number",
    },
    adjustment: {
      type: "numeric",
      unit: "settlement asset",
      description: "Sum of what loss socialisation gave to the party, in the settlement asset's decimals",
    },
    tx_hash: txHash,
    vega_time: vegaTime,
    pending_open_volume: {
      type: "int8",
      unit: "size",
      description: "Volume including trades not yet settled, in the market's size decimals; negative if it is short",
    },
    pending_realised_pnl: {
      type: "numeric",
      unit: "settlement asset",
      description: "Realised profit or loss including trades not yet settled, in the settlement asset's decimals",
    },
    pending_unrealised_pnl: {
      type: "numeric",
      unit: "settlement asset",
      description: "Unrealised profit or loss including trades not yet settled, in the settlement asset's decimals",
    },
    pending_average_entry_price: {
      type: "numeric",
      unit: "settlement asset",
      description: "Average entry price including trades not yet settled, in the settlement asset's decimals",
    },
    pending_average_entry_market_price: {
      type: "numeric",
      unit: "price",
      description: "Average entry price including trades not yet settled, in the market's price decimals",
    },
    loss_socialisation_amount: {
      type: "numeric",
      unit: "settlement asset",
      description: "Sum of the amounts of loss socialisation without their signs, in the settlement asset's decimals",
    },
    distressed_status: {
      type: "position_status_type",
      description: "Whether the network closed the party's orders or its position",
    },
  },
};
