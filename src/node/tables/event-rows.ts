import { type DescEnum, type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import {
  AuctionDurationSchema,
  CompositePriceConfigurationSchema,
  CompositePriceTypeSchema,
  FeesSchema,
  LiquidationStrategySchema,
  LiquidityMonitoringParametersSchema,
  LiquiditySLAParametersSchema,
  Market_StateSchema,
  Market_TradingModeSchema,
  MarketTimestampsSchema,
  PriceMonitoringSettingsSchema,
  TradableInstrumentSchema,
} from "../../../gen/vega/markets_pb.js";
import {
  type AccountDetails,
  AccountType,
  AuctionTriggerSchema,
  CompositePriceStateSchema,
  Deposit_StatusSchema,
  type Fee,
  LiquidityOrderReferenceSchema,
  LiquidityProviderFeeShareSchema,
  LiquidityProviderSLASchema,
  LiquidityProvision_StatusSchema,
  MarginMode,
  MarginModeSchema,
  PositionStatusSchema,
  PriceMonitoringBoundsSchema,
  ProductDataSchema,
  TransferTypeSchema,
  Withdrawal_StatusSchema,
  WithdrawExtSchema,
} from "../../../gen/vega/vega_pb.js";
import { accountId, NETWORK } from "../engine/collateral.js";
import type { Block, BlockEvent, Event } from "../world/block-event.js";
import type { Value } from "./postgres-text.js";

export const balances = rowsFrom(["account"], (value, blockEvent) => [
  { account_id: value.id, ...origin(blockEvent), balance: amount(value.balance) },
]);

/** The times of entries become unique when the rows of the block are combined (`blockRows`). */
export const ledger = rowsFrom(["ledgerMovements"], (value, blockEvent) =>
  value.ledgerMovements
    .flatMap(({ entries }) => entries)
    .map((entry) => ({
      ledger_entry_time: syntheticTime(blockEvent),
      ...account("from", entry.fromAccount),
      ...account("to", entry.toAccount),
      quantity: amount(entry.amount),
      ...origin(blockEvent),
      transfer_time: time(entry.timestamp) ?? blockEvent.block.time,
      account_from_balance: amount(entry.fromAccountBalance),
      account_to_balance: amount(entry.toAccountBalance),
      type: name(TransferTypeSchema, entry.type),
      transfer_id: id(entry.transferId),
    })),
);

/** Returns the columns of an entry's account: its identifier, and what the export of a party's ledger contains. */
function account(side: "from" | "to", details: AccountDetails | undefined): Row {
  const { owner: named, assetId: asset = "", marketId = "", type = AccountType.UNSPECIFIED } = details ?? {};
  const owner = named || NETWORK;
  return {
    asset_id: asset,
    [`account_${side}_id`]: accountId({ owner, asset, marketId, type }),
    [`account_${side}_party_id`]: owner,
    [`account_${side}_market_id`]: marketId,
    [`account_${side}_account_type`]: AccountType[type] ?? String(type),
  };
}

export const margin_levels = rowsFrom(["marginLevels"], (value, blockEvent) => {
  const idOf = (type: AccountType) =>
    accountId({ owner: value.partyId, asset: value.asset, marketId: value.marketId, type });
  return [
    {
      account_id: idOf(AccountType.MARGIN),
      timestamp: time(value.timestamp) ?? blockEvent.block.time,
      maintenance_margin: amount(value.maintenanceMargin),
      search_level: amount(value.searchLevel),
      initial_margin: amount(value.initialMargin),
      collateral_release_level: amount(value.collateralReleaseLevel),
      ...origin(blockEvent),
      margin_mode: name(MarginModeSchema, value.marginMode),
      margin_factor: amount(value.marginFactor),
      order_margin: amount(value.orderMargin),
      order_margin_account_id:
        value.marginMode === MarginMode.ISOLATED_MARGIN ? idOf(AccountType.ORDER_MARGIN) : undefined,
    },
  ];
});

export const deposits = rowsFrom(["deposit"], (value, blockEvent) => [
  {
    id: value.id,
    status: name(Deposit_StatusSchema, value.status),
    party_id: value.partyId,
    asset: value.asset,
    amount: amount(value.amount),
    foreign_tx_hash: value.txHash,
    credited_timestamp: value.creditedTimestamp,
    created_timestamp: value.createdTimestamp,
    ...origin(blockEvent),
  },
]);

export const withdrawals = rowsFrom(["withdrawal"], (value, blockEvent) => [
  {
    id: value.id,
    party_id: value.partyId,
    amount: amount(value.amount),
    asset: value.asset,
    status: name(Withdrawal_StatusSchema, value.status),
    ref: value.ref,
    foreign_tx_hash: value.txHash,
    created_timestamp: value.createdTimestamp,
    withdrawn_timestamp: value.withdrawnTimestamp,
    ext: json(WithdrawExtSchema, value.ext),
    ...origin(blockEvent),
  },
]);

export const rewards = rowsFrom(["rewardPayout"], (value, blockEvent) => [
  {
    party_id: value.party,
    asset_id: value.asset,
    reward_type: value.rewardType,
    epoch_id: amount(value.epochSeq),
    amount: amount(value.amount),
    percent_of_total: amount(value.percentOfTotalReward),
    timestamp: value.timestamp,
    ...origin(blockEvent),
    ...sequence(blockEvent),
    locked_until_epoch_id: amount(value.lockedUntilEpoch),
    quantum_amount: amount(value.quantumAmount),
    game_id: id(value.gameId),
  },
]);

/** The values of a row, by column name. */
export type Row = Readonly<Record<string, Value>>;

/** Returns the rows of a table that an event creates; an empty list if it creates none. */
export type RowsOf = (blockEvent: BlockEvent) => readonly Row[];

/** What events hold, by their kinds. */
type Values = { readonly [E in Event as E["case"]]: E["value"] };

function rowsFrom<C extends keyof Values>(
  kinds: readonly C[],
  rowsOf: (value: Values[C], blockEvent: BlockEvent) => readonly Row[],
): RowsOf {
  const isWanted = (event: Event): event is Event & { readonly value: Values[C] } =>
    kinds.some((kind) => kind === event.case);
  return (blockEvent) => (isWanted(blockEvent.event) ? rowsOf(blockEvent.event.value, blockEvent) : []);
}

/** Returns an identifier; `undefined` if it is empty. */
const id = (text: string | undefined): string | undefined => (text === "" ? undefined : text);

/** Returns a number, price or amount as text; `undefined` if it is empty. */
const amount = id;

/** Returns a time in Unix nanoseconds; `undefined` if it is 0. */
const time = (nanoseconds: bigint | undefined): bigint | undefined => (nanoseconds === 0n ? undefined : nanoseconds);

/** Returns the name of an enum's value. */
const name = (schema: DescEnum, value: number): string | undefined => schema.value[value]?.name;

/** Returns a message as JSON; `undefined` if there is no message. */
function json<S extends DescMessage>(schema: S, message: MessageShape<S> | undefined): Value {
  return message === undefined ? undefined : toJson(schema, message);
}

function jsonList<S extends DescMessage>(schema: S, messages: readonly MessageShape<S>[]): Value {
  return messages.map((message) => toJson(schema, message));
}

/** Returns the columns of the row's transaction and block. */
const origin = ({ txHash, block }: BlockEvent): Row => ({ tx_hash: txHash, vega_time: block.time });

/** Returns the column of the event's position in the block, from 1. */
const sequence = ({ sequence }: BlockEvent): Row => ({ seq_num: sequence });

/** Returns a time that is unique for each event: the block's time plus the event's position in microseconds. */
const syntheticTime = ({ block, sequence }: BlockEvent): bigint => block.time + BigInt(sequence) * 1000n;

export const orders = rowsFrom(["order", "endedOrder"], (value, blockEvent) => {
  const iceberg = value.icebergOrder;
  return [
    {
      id: value.id,
      market_id: value.marketId,
      party_id: value.partyId,
      side: value.side,
      price: amount(value.price),
      size: value.size,
      remaining: value.remaining,
      time_in_force: value.timeInForce,
      type: value.type,
      status: value.status,
      reference: value.reference,
      reason: value.reason,
      version: value.version,
      batch_id: value.batchId,
      pegged_offset: amount(value.peggedOrder?.offset),
      pegged_reference: value.peggedOrder?.reference,
      lp_id: id(value.liquidityProvisionId),
      created_at: value.createdAt,
      updated_at: time(value.updatedAt),
      expires_at: time(value.expiresAt),
      ...origin(blockEvent),
      ...sequence(blockEvent),
      post_only: value.postOnly,
      reduce_only: value.reduceOnly,
      reserved_remaining: iceberg?.reservedRemaining,
      peak_size: iceberg?.peakSize,
      minimum_visible_size: iceberg?.minimumVisibleSize,
      // The names of these two columns before schema version 6.
      initial_peak_size: iceberg?.peakSize,
      minimum_peak_size: iceberg?.minimumVisibleSize,
    },
  ];
});

export const trades = rowsFrom(["trade"], (value, blockEvent) => [
  {
    synthetic_time: syntheticTime(blockEvent),
    ...origin(blockEvent),
    ...sequence(blockEvent),
    id: value.id,
    market_id: value.marketId,
    price: amount(value.price),
    size: value.size,
    buyer: value.buyer,
    seller: value.seller,
    aggressor: value.aggressor,
    buy_order: value.buyOrder,
    sell_order: value.sellOrder,
    type: value.type,
    ...fees("buyer", value.buyerFee),
    ...fees("seller", value.sellerFee),
    buyer_auction_batch: value.buyerAuctionBatch,
    seller_auction_batch: value.sellerAuctionBatch,
  },
]);

function fees(side: "buyer" | "seller", fee: Fee | undefined): Row {
  return {
    [`${side}_maker_fee`]: amount(fee?.makerFee),
    [`${side}_infrastructure_fee`]: amount(fee?.infrastructureFee),
    [`${side}_liquidity_fee`]: amount(fee?.liquidityFee),
    [`${side}_maker_fee_referral_discount`]: amount(fee?.makerFeeReferrerDiscount),
    [`${side}_infrastructure_fee_referral_discount`]: amount(fee?.infrastructureFeeReferrerDiscount),
    [`${side}_liquidity_fee_referral_discount`]: amount(fee?.liquidityFeeReferrerDiscount),
    [`${side}_maker_fee_volume_discount`]: amount(fee?.makerFeeVolumeDiscount),
    [`${side}_infrastructure_fee_volume_discount`]: amount(fee?.infrastructureFeeVolumeDiscount),
    [`${side}_liquidity_fee_volume_discount`]: amount(fee?.liquidityFeeVolumeDiscount),
    [`${side}_buy_back_fee`]: amount(fee?.buyBackFee),
    [`${side}_treasury_fee`]: amount(fee?.treasuryFee),
    [`${side}_high_volume_maker_fee`]: amount(fee?.highVolumeMakerFee),
  };
}

/** The current position. Its pending columns hold the same values. */
export const positions = rowsFrom(["position"], (value, blockEvent) => {
  const figures = {
    open_volume: value.openVolume,
    realised_pnl: amount(value.realisedPnl),
    unrealised_pnl: amount(value.unrealisedPnl),
    average_entry_price: amount(value.averageEntryPrice),
    average_entry_market_price: amount(value.averageEntryPrice),
  };
  return [
    {
      market_id: value.marketId,
      party_id: value.partyId,
      ...figures,
      loss: amount(value.lossSocialisationAmount),
      adjustment: "0",
      ...origin(blockEvent),
      ...Object.fromEntries(Object.entries(figures).map(([column, figure]) => [`pending_${column}`, figure])),
      loss_socialisation_amount: amount(value.lossSocialisationAmount),
      distressed_status: name(PositionStatusSchema, value.positionStatus),
    },
  ];
});

export const markets = rowsFrom(["marketCreated", "marketUpdated"], (value, blockEvent) => [
  {
    id: value.id,
    ...origin(blockEvent),
    instrument_id: value.tradableInstrument?.instrument?.id,
    tradable_instrument: json(TradableInstrumentSchema, value.tradableInstrument),
    decimal_places: value.decimalPlaces,
    fees: json(FeesSchema, value.fees),
    opening_auction: json(AuctionDurationSchema, value.openingAuction),
    price_monitoring_settings: json(PriceMonitoringSettingsSchema, value.priceMonitoringSettings),
    liquidity_monitoring_parameters: json(LiquidityMonitoringParametersSchema, value.liquidityMonitoringParameters),
    trading_mode: name(Market_TradingModeSchema, value.tradingMode),
    state: name(Market_StateSchema, value.state),
    market_timestamps: json(MarketTimestampsSchema, value.marketTimestamps),
    position_decimal_places: value.positionDecimalPlaces,
    lp_price_range: value.lpPriceRange,
    quadratic_slippage_factor: amount(value.quadraticSlippageFactor),
    linear_slippage_factor: amount(value.linearSlippageFactor),
    parent_market_id: id(value.parentMarketId),
    insurance_pool_fraction: amount(value.insurancePoolFraction),
    liquidity_sla_parameters: json(LiquiditySLAParametersSchema, value.liquiditySlaParams),
    liquidation_strategy: json(LiquidationStrategySchema, value.liquidationStrategy),
    mark_price_configuration: json(CompositePriceConfigurationSchema, value.markPriceConfiguration),
    tick_size: amount(value.tickSize),
    enable_tx_reordering: value.enableTransactionReordering,
  },
]);

export const market_data = rowsFrom(["marketData"], (value, blockEvent) => [
  {
    synthetic_time: syntheticTime(blockEvent),
    ...origin(blockEvent),
    ...sequence(blockEvent),
    market: value.market,
    mark_price: amount(value.markPrice),
    best_bid_price: amount(value.bestBidPrice),
    best_bid_volume: value.bestBidVolume,
    best_offer_price: amount(value.bestOfferPrice),
    best_offer_volume: value.bestOfferVolume,
    best_static_bid_price: amount(value.bestStaticBidPrice),
    best_static_bid_volume: value.bestStaticBidVolume,
    best_static_offer_price: amount(value.bestStaticOfferPrice),
    best_static_offer_volume: value.bestStaticOfferVolume,
    mid_price: amount(value.midPrice),
    static_mid_price: amount(value.staticMidPrice),
    open_interest: value.openInterest,
    auction_end: value.auctionEnd,
    auction_start: value.auctionStart,
    indicative_price: amount(value.indicativePrice),
    indicative_volume: value.indicativeVolume,
    market_trading_mode: name(Market_TradingModeSchema, value.marketTradingMode),
    auction_trigger: name(AuctionTriggerSchema, value.trigger),
    extension_trigger: name(AuctionTriggerSchema, value.extensionTrigger),
    target_stake: amount(value.targetStake),
    supplied_stake: amount(value.suppliedStake),
    price_monitoring_bounds: jsonList(PriceMonitoringBoundsSchema, value.priceMonitoringBounds),
    market_value_proxy: value.marketValueProxy,
    liquidity_provider_fee_shares: jsonList(LiquidityProviderFeeShareSchema, value.liquidityProviderFeeShare),
    market_state: name(Market_StateSchema, value.marketState),
    next_mark_to_market: time(value.nextMarkToMarket),
    market_growth: amount(value.marketGrowth),
    last_traded_price: amount(value.lastTradedPrice),
    product_data: json(ProductDataSchema, value.productData),
    liquidity_provider_sla: jsonList(LiquidityProviderSLASchema, value.liquidityProviderSla),
    next_network_closeout: value.nextNetworkCloseout,
    mark_price_type: name(CompositePriceTypeSchema, value.markPriceType),
    mark_price_state: json(CompositePriceStateSchema, value.markPriceState),
  },
]);

export const liquidity_provisions = rowsFrom(["liquidityProvision"], (value, blockEvent) => [
  {
    id: value.id,
    party_id: id(value.partyId),
    created_at: value.createdAt,
    updated_at: value.updatedAt,
    market_id: id(value.marketId),
    commitment_amount: amount(value.commitmentAmount),
    fee: amount(value.fee),
    sells: jsonList(LiquidityOrderReferenceSchema, value.sells),
    buys: jsonList(LiquidityOrderReferenceSchema, value.buys),
    version: value.version,
    status: name(LiquidityProvision_StatusSchema, value.status),
    reference: value.reference,
    ...origin(blockEvent),
  },
]);

export const blockFields = ({ time, height, hash }: Block): Row => ({ vega_time: time, height, hash });

export const blocks: RowsOf = ({ block, event }) => (event.case === "beginBlock" ? [blockFields(block)] : []);

export const checkpoints = rowsFrom(["checkpoint"], (value, blockEvent) => {
  const { hash, blockHash, blockHeight } = value;
  return [{ hash, block_hash: blockHash, block_height: blockHeight, ...origin(blockEvent), ...sequence(blockEvent) }];
});

export const delegations = rowsFrom(["delegationBalance"], (value, blockEvent) => {
  const { party, nodeId, epochSeq, amount: delegated } = value;
  return [
    {
      party_id: party,
      node_id: nodeId,
      epoch_id: amount(epochSeq),
      amount: amount(delegated),
      ...origin(blockEvent),
      ...sequence(blockEvent),
    },
  ];
});
