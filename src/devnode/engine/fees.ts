import { create } from "@bufbuild/protobuf";
import { AccountType, type Fee, FeeSchema, TransferType } from "../../../gen/vega/vega_pb.js";
import { divideUp, parseDecimal } from "./decimal.js";
import { generalAccount, networkAccount, type Transfers } from "./ledger.js";
import type { Fill } from "./match.js";
import type { MarketState } from "./state.js";

const FACTOR_DECIMALS = 18;

/** The fees of who pays none. */
export function noFees(): Fee {
  return create(FeeSchema, ZERO);
}

const ZERO = {
  makerFee: "0",
  infrastructureFee: "0",
  liquidityFee: "0",
  makerFeeVolumeDiscount: "0",
  infrastructureFeeVolumeDiscount: "0",
  liquidityFeeVolumeDiscount: "0",
  makerFeeReferrerDiscount: "0",
  infrastructureFeeReferrerDiscount: "0",
  liquidityFeeReferrerDiscount: "0",
  treasuryFee: "0",
  buyBackFee: "0",
  highVolumeMakerFee: "0",
};

/**
 * Pay the fees of a trade: to the maker, for the infrastructure and for liquidity, in this order, each of them a factor of
 * the trade's value, rounded up. A party whose balance does not suffice pays what it has.
 *
 * @param transfers moves the fees
 * @param market the market, which has the factors
 * @param partyId the party whose order came in
 * @param fill the trade
 * @returns the fees that were paid
 */
export function payFees(transfers: Transfers, market: MarketState, partyId: string, fill: Fill): Fee {
  const { asset } = market;
  const { id } = market.market;
  const payer = generalAccount(partyId, asset);
  const factors = market.market.fees?.factors;
  const due = (factor: string | undefined) => feeOf(market, fill, factor ?? "0");
  const makerAccount = networkAccount(AccountType.FEES_MAKER, asset, id);
  const makerFee = transfers.move(payer, makerAccount, due(factors?.makerFee), TransferType.MAKER_FEE_PAY);
  const maker = generalAccount(fill.maker.partyId, asset);
  transfers.move(makerAccount, maker, makerFee, TransferType.MAKER_FEE_RECEIVE);
  const infrastructureFee = transfers.move(
    payer,
    networkAccount(AccountType.FEES_INFRASTRUCTURE, asset, ""),
    due(factors?.infrastructureFee),
    TransferType.INFRASTRUCTURE_FEE_PAY,
  );
  const liquidityFee = transfers.move(
    payer,
    networkAccount(AccountType.FEES_LIQUIDITY, asset, id),
    due(factors?.liquidityFee),
    TransferType.LIQUIDITY_FEE_PAY,
  );
  return create(FeeSchema, {
    ...ZERO,
    makerFee: String(makerFee),
    infrastructureFee: String(infrastructureFee),
    liquidityFee: String(liquidityFee),
  });
}

function feeOf(market: MarketState, { price, size }: Fill, factor: string): bigint {
  const value = price * size * parseDecimal(factor, FACTOR_DECIMALS);
  const exponent = market.amountExponent - FACTOR_DECIMALS;
  return exponent < 0 ? divideUp(value, 10n ** BigInt(-exponent)) : value * 10n ** BigInt(exponent);
}
