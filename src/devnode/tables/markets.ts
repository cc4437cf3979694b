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
  AuctionTriggerSchema,
  CompositePriceStateSchema,
  LiquidityOrderReferenceSchema,
  LiquidityProviderFeeShareSchema,
  LiquidityProviderSLASchema,
  LiquidityProvision_StatusSchema,
  PriceMonitoringBoundsSchema,
  ProductDataSchema,
} from "../../../gen/vega/vega_pb.js";
import { amount, type FieldsOf, id, json, jsonList, name, origin, sequence, syntheticTime, time } from "./fields.js";

export const markets: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "marketCreated" && event.case !== "marketUpdated") {
    return [];
  }
  const { value } = event;
  return [
    {
      id: value.id,
      ...origin(happening),
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
  ];
};

export const market_data: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "marketData") {
    return [];
  }
  const { value } = event;
  return [
    {
      synthetic_time: syntheticTime(happening),
      ...origin(happening),
      ...sequence(happening),
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
  ];
};

export const liquidity_provisions: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "liquidityProvision") {
    return [];
  }
  const { value } = event;
  return [
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
      ...origin(happening),
    },
  ];
};
