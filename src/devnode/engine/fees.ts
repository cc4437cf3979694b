import { create } from "@bufbuild/protobuf";
import { AccountType, type Fee, FeeSchema, TransferType } from "../../../gen/vega/vega_pb.js";
import { parseDecimal } from "./decimal.js";
import { emitMovements, type Move, moveFunds } from "./funds.js";
import { balanceOf, generalAccount, networkAccount } from "./ledger.js";
import { marginAccount } from "./margins.js";
import type { Fill } from "./match.js";
import { factoredAmount } from "./positions.js";
import { FACTOR_DECIMALS } from "./risk-factors.js";
import type { MarketState, Work } from "./state.js";

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
 * Computes the fees of a trade: each of them a factor of the trade's value, rounded up.
 *
 * @param market the market, which has the factors
 * @param fill the trade
 * @returns the fees that the party pays whose order came in
 */
export function feesOf(market: MarketState, { price, size }: Pick<Fill, "price" | "size">): Fee {
  const factors = market.market.fees?.factors;
  const due = (factor = "0") => String(factoredAmount(market, price * size * parseDecimal(factor, FACTOR_DECIMALS)));
  return create(FeeSchema, {
    ...ZERO,
    makerFee: due(factors?.makerFee),
    infrastructureFee: due(factors?.infrastructureFee),
    liquidityFee: due(factors?.liquidityFee),
    treasuryFee: due(factors?.treasuryFee),
    buyBackFee: due(factors?.buyBackFee),
  });
}

/**
 * Tells whether a party has what fees come to (v0.78.0, `core/collateral/engine.go`, PartyCanCoverFees).
 *
 * @param work the block
 * @param market the market
 * @param partyId the party, whose general and margin accounts count
 * @param fees the fees of all trades of an order
 */
export function canPayFees(work: Work, market: MarketState, partyId: string, fees: readonly Fee[]): boolean {
  const total = fees.reduce((sum, fee) => sum + totalOf(fee), 0n);
  const accounts = [generalAccount(partyId, market.asset), marginAccount(market, partyId)];
  return accounts.reduce((sum, account) => sum + balanceOf(work.state, account), 0n) >= total;
}

const totalOf = ({ makerFee, infrastructureFee, liquidityFee, treasuryFee, buyBackFee }: Fee) =>
  [makerFee, infrastructureFee, liquidityFee, treasuryFee, buyBackFee].reduce((sum, each) => sum + BigInt(each), 0n);

/**
 * Pays the fees of an order's trades (v0.78.0, `core/fee/engine.go`, CalculateForContinuousMode, and as recorded): to the maker
 * of each trade, then for buying back, to the treasury, for the infrastructure and for liquidity, also where they are 0. What
 * the general account lacks comes from the margin.
 *
 * @param work the block
 * @param market the market
 * @param partyId the party whose order came in, which can pay
 * @param trades the trades, each with its fees
 */
export function payFees(
  work: Work,
  market: MarketState,
  partyId: string,
  trades: readonly { readonly fill: Fill; readonly fee: Fee }[],
): void {
  const { asset } = market;
  const { id } = market.market;
  const payer = generalAccount(partyId, asset);
  const makers = networkAccount(AccountType.FEES_MAKER, asset, id);
  const total = (of: (fee: Fee) => string) => trades.reduce((sum, { fee }) => sum + BigInt(of(fee)), 0n);
  const shared = (type: AccountType, marketId: string, transfer: TransferType, of: (fee: Fee) => string): Move => ({
    from: payer,
    to: networkAccount(type, asset, marketId),
    amount: total(of),
    type: transfer,
  });
  const due = trades.reduce((sum, { fee }) => sum + totalOf(fee), 0n);
  const lacking = due - balanceOf(work.state, payer);
  const margin = marginAccount(market, partyId);
  const refill = { from: margin, to: payer, amount: lacking, type: TransferType.MARGIN_HIGH };
  emitMovements(
    work,
    moveFunds(work, [
      ...(lacking > 0n ? [refill] : []),
      ...trades.map(({ fee }) => ({
        from: payer,
        to: makers,
        amount: BigInt(fee.makerFee),
        type: TransferType.MAKER_FEE_PAY,
      })),
      shared(AccountType.BUY_BACK_FEES, "", TransferType.BUY_BACK_FEE_PAY, ({ buyBackFee }) => buyBackFee),
      shared(AccountType.NETWORK_TREASURY, "", TransferType.TREASURY_FEE_PAY, ({ treasuryFee }) => treasuryFee),
      shared(
        AccountType.FEES_INFRASTRUCTURE,
        "",
        TransferType.INFRASTRUCTURE_FEE_PAY,
        ({ infrastructureFee }) => infrastructureFee,
      ),
      shared(AccountType.FEES_LIQUIDITY, id, TransferType.LIQUIDITY_FEE_PAY, ({ liquidityFee }) => liquidityFee),
      ...trades.map(({ fill, fee }) => ({
        from: makers,
        to: generalAccount(fill.maker.partyId, asset),
        amount: BigInt(fee.makerFee),
        type: TransferType.MAKER_FEE_RECEIVE,
      })),
    ]),
  );
}
