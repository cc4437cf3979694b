import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type AmendAMM,
  type AmendAMM_ConcentratedLiquidityParameters,
  type CancelAMM,
  CancelAMM_Method,
  type LiquidityProvisionAmendment,
  type LiquidityProvisionCancellation,
  type LiquidityProvisionSubmission,
  type SubmitAMM,
  type SubmitAMM_ConcentratedLiquidityParameters,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  type AMM,
  type AMM_ConcentratedLiquidityParameters,
  AMM_ConcentratedLiquidityParametersSchema,
  AMM_Status,
  AMM_StatusReason,
  AMMSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import {
  AccountType,
  type LiquidityProvision,
  LiquidityProvision_Status,
  LiquidityProvisionSchema,
  TransferType,
} from "../../../gen/vega/vega_pb.js";
import {
  type AccountKey,
  balanceOf,
  emitLedgerMovements,
  type FundsTransfer,
  generalAccount,
  openAccount,
  openGeneralAccount,
  transferFunds,
} from "./collateral.js";
import { isBelow, ONE, parseFixedPoint } from "./decimal.js";
import type { ExecutionContext, MarketState } from "./engine-state.js";
import { fieldsOf } from "./market-configuration.js";

const UNKNOWN_MARKET = "OrderError: Invalid Market ID";
const NOT_ENOUGH = "not enough collateral in general account";

/**
 * Commits liquidity to a market (`core/liquidity/v2`) and takes the bond from the general account. On the local node a
 * liquidity provision stays pending: it earns no fees and has no SLA.
 *
 * @param context the block
 * @param partyId the sender
 * @param command the commitment
 * @param id the provision's identifier
 * @returns the error if the commitment is rejected
 */
export function provideLiquidity(
  context: ExecutionContext,
  partyId: string,
  command: LiquidityProvisionSubmission,
  id: string,
): string | undefined {
  const { state, block } = context;
  const market = state.markets.get(command.marketId.toLowerCase());
  if (market === undefined) {
    return UNKNOWN_MARKET;
  }
  const key = `${partyId} ${market.market.id}`;
  if (state.provisions.has(key)) {
    return "liquidity provision already exists";
  }
  const { commitmentAmount, fee, reference } = command;
  if (isBelowMinimumCommitment(context, market, commitmentAmount)) {
    return "commitment amount is too low";
  }
  const provision = create(LiquidityProvisionSchema, {
    ...{ id, partyId, marketId: market.market.id, createdAt: block.time, commitmentAmount, fee, reference },
  });
  if (isFeeAboveMaximum(context, fee)) {
    emitProvision(context, { ...provision, status: LiquidityProvision_Status.REJECTED });
    return "invalid liquidity provision fee";
  }
  const pending = { ...provision, updatedAt: block.time, version: 1n, status: LiquidityProvision_Status.PENDING };
  emitProvision(context, pending);
  openGeneralAccount(context, partyId, market.asset);
  openAccount(context, bondAccount(market, partyId));
  openAccount(context, { ...bondAccount(market, partyId), type: AccountType.LP_LIQUIDITY_FEES });
  if (!transferBond(context, market, partyId, BigInt(commitmentAmount))) {
    emitProvision(context, { ...pending, status: LiquidityProvision_Status.REJECTED });
    return NOT_ENOUGH;
  }
  state.provisions.set(key, pending);
  return undefined;
}

/**
 * Amends a liquidity provision and transfers the difference of the bonds immediately.
 *
 * @param context the block
 * @param partyId the provider
 * @param command the changes; an empty fee or amount changes nothing
 * @returns the error if nothing is amended
 */
export function amendLiquidity(
  context: ExecutionContext,
  partyId: string,
  command: LiquidityProvisionAmendment,
): string | undefined {
  const found = findProvision(context, partyId, command.marketId);
  if (found === undefined || typeof found === "string") {
    return found ?? "party is not a liquidity provider";
  }
  const { market, provision } = found;
  const commitmentAmount = command.commitmentAmount || provision.commitmentAmount;
  const fee = command.fee || provision.fee;
  if (isBelowMinimumCommitment(context, market, commitmentAmount)) {
    return "commitment amount is too low";
  }
  if (isFeeAboveMaximum(context, fee)) {
    return "invalid liquidity provision fee";
  }
  if (!transferBond(context, market, partyId, BigInt(commitmentAmount) - BigInt(provision.commitmentAmount))) {
    return NOT_ENOUGH;
  }
  const reference = command.reference || provision.reference;
  const amended = { ...nextVersion(context, provision), commitmentAmount, fee, reference };
  context.state.provisions.set(`${partyId} ${market.market.id}`, amended);
  emitProvision(context, amended);
  return undefined;
}

/**
 * Cancels a liquidity provision and returns the bond.
 *
 * @param context the block
 * @param partyId the provider
 * @param command the market
 * @returns the error if nothing is canceled
 */
export function cancelLiquidity(
  context: ExecutionContext,
  partyId: string,
  command: LiquidityProvisionCancellation,
): string | undefined {
  const found = findProvision(context, partyId, command.marketId);
  if (found === undefined || typeof found === "string") {
    return found ?? "party has no existing liquidity provision";
  }
  const { market, provision } = found;
  transferBond(context, market, partyId, -BigInt(provision.commitmentAmount));
  context.state.provisions.delete(`${partyId} ${market.market.id}`);
  // The network keeps the status of a pending provision.
  emitProvision(context, { ...nextVersion(context, provision), commitmentAmount: "0", fee: "0" });
  return undefined;
}

function findProvision(
  { state }: ExecutionContext,
  partyId: string,
  marketId: string,
): { readonly market: MarketState; readonly provision: LiquidityProvision } | string | undefined {
  const market = state.markets.get(marketId.toLowerCase());
  if (market === undefined) {
    return UNKNOWN_MARKET;
  }
  const provision = state.provisions.get(`${partyId} ${market.market.id}`);
  return provision && { market, provision };
}

const nextVersion = ({ block }: ExecutionContext, provision: LiquidityProvision): LiquidityProvision => ({
  ...provision,
  updatedAt: block.time,
  version: provision.version + 1n,
});

function isBelowMinimumCommitment({ state }: ExecutionContext, { asset }: MarketState, amount: string): boolean {
  const multiple = state.parameters.get("market.liquidityProvision.minLpStakeQuantumMultiple") ?? "0";
  const quantum = state.assets.get(asset)?.details?.quantum ?? "0";
  return BigInt(amount) * ONE * ONE < parseFixedPoint(multiple) * parseFixedPoint(quantum);
}

function isFeeAboveMaximum({ state }: ExecutionContext, fee: string): boolean {
  return isBelow(state.parameters.get("market.liquidity.maximumLiquidityFeeFactorLevel") ?? "1", fee);
}

/** Transfers an amount from the general account to the bond account, or back if it is negative. */
function transferBond(context: ExecutionContext, market: MarketState, partyId: string, amount: bigint): boolean {
  const accounts = { from: generalAccount(partyId, market.asset), to: bondAccount(market, partyId) };
  return transferEitherWay(context, { ...accounts, amount, type: TransferType.BOND_LOW }, TransferType.BOND_HIGH);
}

/**
 * Transfers funds, or returns them if the amount is negative.
 *
 * @param context the block
 * @param transfer the transfer
 * @param returnType type of the transfer in the opposite direction
 * @returns whether the balance of the source account sufficed
 */
function transferEitherWay(context: ExecutionContext, transfer: FundsTransfer, returnType: TransferType): boolean {
  const { from, to, amount } = transfer;
  if (amount > balanceOf(context.state, from)) {
    return false;
  }
  const move = amount < 0n ? { from: to, to: from, amount: -amount, type: returnType } : transfer;
  emitLedgerMovements(context, amount === 0n ? [] : transferFunds(context, [move]));
  return true;
}

function bondAccount({ market, asset }: MarketState, owner: string): AccountKey {
  return { owner, asset, marketId: market.id, type: AccountType.BOND };
}

function emitProvision({ emit }: ExecutionContext, value: LiquidityProvision): void {
  emit({ case: "liquidityProvision", value });
}

const NO_POOL = "no pool matching party";

/**
 * Submits an AMM. The local node transfers the commitment to the AMM's party and stores its state. It computes no
 * curves, so nobody trades with the AMM.
 *
 * @param context the block
 * @param partyId the owner
 * @param command the AMM
 * @param id its identifier
 * @returns the error if it is rejected
 */
export function submitAmm(
  context: ExecutionContext,
  partyId: string,
  command: SubmitAMM,
  id: string,
): string | undefined {
  const { state } = context;
  const market = state.markets.get(command.marketId.toLowerCase());
  if (market === undefined) {
    return UNKNOWN_MARKET;
  }
  const { id: marketId } = market.market;
  const key = `${partyId} ${marketId}`;
  const ammPartyId = ammParty(partyId, marketId);
  const parameters = curveParameters(command.concentratedLiquidityParameters);
  const amm = create(AMMSchema, {
    ...{ id, partyId, marketId, ammPartyId, commitment: command.commitmentAmount, parameters },
    ...{ status: AMM_Status.ACTIVE, proposedFee: command.proposedFee },
  });
  const reject = (statusReason: AMM_StatusReason, error: string) => {
    emitAmm(context, { ...amm, status: AMM_Status.REJECTED, statusReason });
    return error;
  };
  if (state.amms.has(key)) {
    const { PARTY_ALREADY_OWNS_AMM_FOR_MARKET } = AMM_StatusReason;
    return reject(PARTY_ALREADY_OWNS_AMM_FOR_MARKET, `party already own a pool for market ${marketId}`);
  }
  openGeneralAccount(context, partyId, market.asset);
  openAccount(context, generalAccount(ammPartyId, market.asset));
  for (const type of [AccountType.MARGIN, AccountType.LP_LIQUIDITY_FEES]) {
    openAccount(context, { owner: ammPartyId, asset: market.asset, marketId, type });
  }
  if (!transferCommitment(context, market, amm, BigInt(command.commitmentAmount))) {
    return reject(AMM_StatusReason.CANNOT_FILL_COMMITMENT, NOT_ENOUGH);
  }
  state.amms.set(key, amm);
  emitAmm(context, amm);
  return undefined;
}

/**
 * Amends an AMM.
 *
 * @param context the block
 * @param partyId the owner
 * @param command the changes
 * @returns the error if nothing is amended
 */
export function amendAmm(context: ExecutionContext, partyId: string, command: AmendAMM): string | undefined {
  const { amms } = context.state;
  const market = context.state.markets.get(command.marketId.toLowerCase());
  const amm = amms.get(`${partyId} ${market?.market.id}`);
  if (market === undefined || amm === undefined) {
    return market === undefined ? UNKNOWN_MARKET : NO_POOL;
  }
  emitAmm(context, amm); // The network emits the unchanged AMM first.
  const commitment = command.commitmentAmount ?? amm.commitment;
  if (!transferCommitment(context, market, amm, BigInt(commitment) - BigInt(amm.commitment))) {
    return NOT_ENOUGH;
  }
  const curve = command.concentratedLiquidityParameters;
  const amended: AMM = {
    ...amm,
    commitment,
    proposedFee: command.proposedFee ?? amm.proposedFee,
    ...(curve && { parameters: curveParameters(curve) }),
  };
  amms.set(`${partyId} ${market.market.id}`, amended);
  emitAmm(context, amended);
  return undefined;
}

/**
 * Cancels an AMM immediately, or sets it to reduce-only. On the local node it never has a position, but a reduce-only AMM stays
 * until it is canceled immediately, so that clients can see this state.
 *
 * @param context the block
 * @param partyId the owner
 * @param command the method
 * @returns the error if nothing is canceled
 */
export function cancelAmm(context: ExecutionContext, partyId: string, command: CancelAMM): string | undefined {
  const { amms } = context.state;
  const market = context.state.markets.get(command.marketId.toLowerCase());
  const key = `${partyId} ${market?.market.id}`;
  const amm = amms.get(key);
  if (market === undefined || amm === undefined) {
    return market === undefined ? UNKNOWN_MARKET : NO_POOL;
  }
  if (command.method === CancelAMM_Method.REDUCE_ONLY) {
    amms.set(key, { ...amm, status: AMM_Status.REDUCE_ONLY });
    emitAmm(context, { ...amm, status: AMM_Status.REDUCE_ONLY });
    return undefined;
  }
  amms.delete(key);
  transferCommitment(context, market, amm, -balanceOf(context.state, generalAccount(amm.ammPartyId, market.asset)));
  emitAmm(context, { ...amm, status: AMM_Status.CANCELLED });
  return undefined;
}

/** Derives the party of an AMM (`core/execution/amm/engine.go`, DeriveAMMParty). */
function ammParty(partyId: string, marketId: string): string {
  return createHash("sha3-256").update(`AMMv1${marketId}${partyId}0`).digest("hex");
}

/** Transfers an amount from the owner to the AMM, or back if it is negative. */
function transferCommitment(
  context: ExecutionContext,
  { asset }: MarketState,
  { partyId, ammPartyId }: AMM,
  amount: bigint,
): boolean {
  const accounts = { from: generalAccount(partyId, asset), to: generalAccount(ammPartyId, asset) };
  return transferEitherWay(context, { ...accounts, amount, type: TransferType.AMM_LOW }, TransferType.AMM_RELEASE);
}

function curveParameters(
  parameters: SubmitAMM_ConcentratedLiquidityParameters | AmendAMM_ConcentratedLiquidityParameters | undefined,
): AMM_ConcentratedLiquidityParameters {
  return create(AMM_ConcentratedLiquidityParametersSchema, parameters && fieldsOf(parameters));
}

function emitAmm({ emit }: ExecutionContext, value: AMM): void {
  emit({ case: "amm", value });
}
