import { create } from "@bufbuild/protobuf";
import type {
  LiquidityProvisionAmendment,
  LiquidityProvisionCancellation,
  LiquidityProvisionSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  AccountType,
  type LiquidityProvision,
  LiquidityProvision_Status,
  LiquidityProvisionSchema,
  TransferType,
} from "../../../gen/vega/vega_pb.js";
import { parseDecimal } from "./decimal.js";
import { emitMovements, moveFunds, openAccount } from "./funds.js";
import type { AccountKey } from "./identifiers.js";
import { balanceOf, generalAccount, openGeneralAccount } from "./ledger.js";
import { isBelow } from "./proposal-rules.js";
import type { MarketState, Work } from "./state.js";

const UNKNOWN_MARKET = "OrderError: Invalid Market ID";
const NOT_ENOUGH = "not enough collateral in general account";

/**
 * Commit liquidity to a market (`core/liquidity/v2`). The bond is taken from the general account. On the local node a commitment
 * stays pending: it earns no fees, and is not measured.
 *
 * @param work the block
 * @param partyId who commits
 * @param command the commitment
 * @param id its identifier
 * @returns why it is not taken, if so
 */
export function provideLiquidity(
  work: Work,
  partyId: string,
  command: LiquidityProvisionSubmission,
  id: string,
): string | undefined {
  const { state, block } = work;
  const market = state.markets.get(command.marketId.toLowerCase());
  if (market === undefined) {
    return UNKNOWN_MARKET;
  }
  const key = `${partyId} ${market.market.id}`;
  if (state.registers.provisions.has(key)) {
    return "liquidity provision already exists";
  }
  const { commitmentAmount, fee, reference } = command;
  if (isTooLittle(work, market, commitmentAmount)) {
    return "commitment amount is too low";
  }
  const provision = create(LiquidityProvisionSchema, {
    ...{ id, partyId, marketId: market.market.id, createdAt: block.time, commitmentAmount, fee, reference },
  });
  if (isFeeTooHigh(work, fee)) {
    tell(work, { ...provision, status: LiquidityProvision_Status.REJECTED });
    return "invalid liquidity provision fee";
  }
  const begun = { ...provision, updatedAt: block.time, version: 1n, status: LiquidityProvision_Status.PENDING };
  tell(work, begun);
  openGeneralAccount(work, partyId, market.asset);
  openAccount(work, bondAccount(market, partyId));
  openAccount(work, { ...bondAccount(market, partyId), type: AccountType.LP_LIQUIDITY_FEES });
  if (!moveBond(work, market, partyId, BigInt(commitmentAmount))) {
    tell(work, { ...begun, status: LiquidityProvision_Status.REJECTED });
    return NOT_ENOUGH;
  }
  state.registers.provisions.set(key, begun);
  return undefined;
}

/**
 * Amend a commitment. The difference of the bonds moves at once.
 *
 * @param work the block
 * @param partyId who committed
 * @param command what changes; an empty fee or amount does not
 * @returns why nothing was done, if so
 */
export function amendLiquidity(work: Work, partyId: string, command: LiquidityProvisionAmendment): string | undefined {
  const found = find(work, partyId, command.marketId);
  if (found === undefined || typeof found === "string") {
    return found ?? "party is not a liquidity provider";
  }
  const { market, provision } = found;
  const commitmentAmount = command.commitmentAmount || provision.commitmentAmount;
  const fee = command.fee || provision.fee;
  if (isTooLittle(work, market, commitmentAmount)) {
    return "commitment amount is too low";
  }
  if (isFeeTooHigh(work, fee)) {
    return "invalid liquidity provision fee";
  }
  if (!moveBond(work, market, partyId, BigInt(commitmentAmount) - BigInt(provision.commitmentAmount))) {
    return NOT_ENOUGH;
  }
  const reference = command.reference || provision.reference;
  const amended = { ...changed(work, provision), commitmentAmount, fee, reference };
  work.state.registers.provisions.set(`${partyId} ${market.market.id}`, amended);
  tell(work, amended);
  return undefined;
}

/**
 * End a commitment, and give the bond back.
 *
 * @param work the block
 * @param partyId who committed
 * @param command names the market
 * @returns why nothing was done, if so
 */
export function cancelLiquidity(
  work: Work,
  partyId: string,
  command: LiquidityProvisionCancellation,
): string | undefined {
  const found = find(work, partyId, command.marketId);
  if (found === undefined || typeof found === "string") {
    return found ?? "party has no existing liquidity provision";
  }
  const { market, provision } = found;
  moveBond(work, market, partyId, -BigInt(provision.commitmentAmount));
  work.state.registers.provisions.delete(`${partyId} ${market.market.id}`);
  // The network leaves the status of one that was pending as it is.
  tell(work, { ...changed(work, provision), commitmentAmount: "0", fee: "0" });
  return undefined;
}

function find(
  { state }: Work,
  partyId: string,
  marketId: string,
): { readonly market: MarketState; readonly provision: LiquidityProvision } | string | undefined {
  const market = state.markets.get(marketId.toLowerCase());
  if (market === undefined) {
    return UNKNOWN_MARKET;
  }
  const provision = state.registers.provisions.get(`${partyId} ${market.market.id}`);
  return provision && { market, provision };
}

const changed = ({ block }: Work, provision: LiquidityProvision): LiquidityProvision => ({
  ...provision,
  updatedAt: block.time,
  version: provision.version + 1n,
});

function isTooLittle({ state }: Work, { asset }: MarketState, amount: string): boolean {
  const multiple = state.registers.parameters.get("market.liquidityProvision.minLpStakeQuantumMultiple") ?? "0";
  const quantum = state.assets.get(asset)?.details?.quantum ?? "0";
  return BigInt(amount) * 10n ** 36n < parseDecimal(multiple, 18) * parseDecimal(quantum, 18);
}

function isFeeTooHigh({ state }: Work, fee: string): boolean {
  return isBelow(state.registers.parameters.get("market.liquidity.maximumLiquidityFeeFactorLevel") ?? "1", fee);
}

/** Move an amount from the general account to the bond, or back where it is below 0. Whether there was enough. */
function moveBond(work: Work, market: MarketState, partyId: string, amount: bigint): boolean {
  const general = generalAccount(partyId, market.asset);
  const bond = bondAccount(market, partyId);
  if (amount > balanceOf(work.state, general)) {
    return false;
  }
  const move =
    amount < 0n
      ? { from: bond, to: general, amount: -amount, type: TransferType.BOND_HIGH }
      : { from: general, to: bond, amount, type: TransferType.BOND_LOW };
  emitMovements(work, amount === 0n ? [] : moveFunds(work, [move]));
  return true;
}

function bondAccount({ market, asset }: MarketState, owner: string): AccountKey {
  return { owner, asset, marketId: market.id, type: AccountType.BOND };
}

function tell({ emit }: Work, value: LiquidityProvision): void {
  emit({ case: "liquidityProvision", value });
}
