import { type Fee, PositionStatusSchema } from "../../../gen/vega/vega_pb.js";
import { amount, type Fields, type FieldsOf, id, name, origin, sequence, syntheticTime, time } from "./fields.js";

export const orders: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "order" && event.case !== "endedOrder") {
    return [];
  }
  const { value } = event;
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
      ...origin(happening),
      ...sequence(happening),
      post_only: value.postOnly,
      reduce_only: value.reduceOnly,
      reserved_remaining: iceberg?.reservedRemaining,
      peak_size: iceberg?.peakSize,
      minimum_visible_size: iceberg?.minimumVisibleSize,
      // The names of the two before schema version 6.
      initial_peak_size: iceberg?.peakSize,
      minimum_peak_size: iceberg?.minimumVisibleSize,
    },
  ];
};

export const trades: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "trade") {
    return [];
  }
  const { value } = event;
  return [
    {
      synthetic_time: syntheticTime(happening),
      ...origin(happening),
      ...sequence(happening),
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
  ];
};

function fees(side: "buyer" | "seller", fee: Fee | undefined): Fields {
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

/** A position as it stands; nothing of it is pending. */
export const positions: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "position") {
    return [];
  }
  const { value } = event;
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
      ...origin(happening),
      ...Object.fromEntries(Object.entries(figures).map(([column, figure]) => [`pending_${column}`, figure])),
      loss_socialisation_amount: amount(value.lossSocialisationAmount),
      distressed_status: name(PositionStatusSchema, value.positionStatus),
    },
  ];
};
