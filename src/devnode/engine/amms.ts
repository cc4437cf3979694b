import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type AmendAMM,
  type CancelAMM,
  CancelAMM_Method,
  type SubmitAMM,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  type AMM,
  AMM_ConcentratedLiquidityParametersSchema,
  AMM_Status,
  AMM_StatusReason,
  AMMSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import { AccountType, TransferType } from "../../../gen/vega/vega_pb.js";
import { emitMovements, moveFunds, openAccount } from "./funds.js";
import { balanceOf, generalAccount, openGeneralAccount } from "./ledger.js";
import type { MarketState, Work } from "./state.js";

const UNKNOWN_MARKET = "OrderError: Invalid Market ID";
const NO_POOL = "no pool matching party";

/**
 * Submit an automated market maker. The local node keeps it as a state: its commitment goes to a party of its own, and nobody
 * trades with it, for the node computes no curves.
 *
 * @param work the block
 * @param partyId who submits it
 * @param command the market maker
 * @param id its identifier
 * @returns why it is rejected, if so
 */
export function submitAmm(work: Work, partyId: string, command: SubmitAMM, id: string): string | undefined {
  const { state } = work;
  const market = state.markets.get(command.marketId.toLowerCase());
  if (market === undefined) {
    return UNKNOWN_MARKET;
  }
  const { id: marketId } = market.market;
  const key = `${partyId} ${marketId}`;
  const ammPartyId = ammParty(partyId, marketId);
  const parameters = create(
    AMM_ConcentratedLiquidityParametersSchema,
    withoutType(command.concentratedLiquidityParameters),
  );
  const amm = create(AMMSchema, {
    ...{ id, partyId, marketId, ammPartyId, commitment: command.commitmentAmount, parameters },
    ...{ status: AMM_Status.ACTIVE, proposedFee: command.proposedFee },
  });
  const reject = (statusReason: AMM_StatusReason, error: string) => {
    tell(work, { ...amm, status: AMM_Status.REJECTED, statusReason });
    return error;
  };
  if (state.registers.amms.has(key)) {
    const { PARTY_ALREADY_OWNS_AMM_FOR_MARKET } = AMM_StatusReason;
    return reject(PARTY_ALREADY_OWNS_AMM_FOR_MARKET, `party already own a pool for market ${marketId}`);
  }
  openGeneralAccount(work, partyId, market.asset);
  openAccount(work, generalAccount(ammPartyId, market.asset));
  for (const type of [AccountType.MARGIN, AccountType.LP_LIQUIDITY_FEES]) {
    openAccount(work, { owner: ammPartyId, asset: market.asset, marketId, type });
  }
  if (!moveCommitment(work, market, amm, BigInt(command.commitmentAmount))) {
    return reject(AMM_StatusReason.CANNOT_FILL_COMMITMENT, "not enough collateral in general account");
  }
  state.registers.amms.set(key, amm);
  tell(work, amm);
  return undefined;
}

/**
 * Amend an automated market maker.
 *
 * @param work the block
 * @param partyId whose it is
 * @param command what changes
 * @returns why nothing was done, if so
 */
export function amendAmm(work: Work, partyId: string, command: AmendAMM): string | undefined {
  const { amms } = work.state.registers;
  const market = work.state.markets.get(command.marketId.toLowerCase());
  const amm = amms.get(`${partyId} ${market?.market.id}`);
  if (market === undefined || amm === undefined) {
    return market === undefined ? UNKNOWN_MARKET : NO_POOL;
  }
  tell(work, amm); // The network emits it as it was, too.
  const commitment = command.commitmentAmount ?? amm.commitment;
  if (!moveCommitment(work, market, amm, BigInt(commitment) - BigInt(amm.commitment))) {
    return "not enough collateral in general account";
  }
  const given = command.concentratedLiquidityParameters;
  const amended: AMM = {
    ...amm,
    commitment,
    proposedFee: command.proposedFee ?? amm.proposedFee,
    ...(given && { parameters: create(AMM_ConcentratedLiquidityParametersSchema, withoutType(given)) }),
  };
  amms.set(`${partyId} ${market.market.id}`, amended);
  tell(work, amended);
  return undefined;
}

/**
 * Cancel an automated market maker: at once, or as soon as it holds nothing. It holds nothing on the local node, and still
 * stays until it is cancelled at once, so that its state can be seen.
 *
 * @param work the block
 * @param partyId whose it is
 * @param command how
 * @returns why nothing was done, if so
 */
export function cancelAmm(work: Work, partyId: string, command: CancelAMM): string | undefined {
  const { amms } = work.state.registers;
  const market = work.state.markets.get(command.marketId.toLowerCase());
  const key = `${partyId} ${market?.market.id}`;
  const amm = amms.get(key);
  if (market === undefined || amm === undefined) {
    return market === undefined ? UNKNOWN_MARKET : NO_POOL;
  }
  if (command.method === CancelAMM_Method.REDUCE_ONLY) {
    amms.set(key, { ...amm, status: AMM_Status.REDUCE_ONLY });
    tell(work, { ...amm, status: AMM_Status.REDUCE_ONLY });
    return undefined;
  }
  amms.delete(key);
  moveCommitment(work, market, amm, -balanceOf(work.state, generalAccount(amm.ammPartyId, market.asset)));
  tell(work, { ...amm, status: AMM_Status.CANCELLED });
  return undefined;
}

/** The party of a market maker (`core/execution/amm/engine.go`, DeriveAMMParty). */
function ammParty(partyId: string, marketId: string): string {
  return createHash("sha3-256").update(`AMMv1${marketId}${partyId}0`).digest("hex");
}

/** Move an amount from the owner to its market maker, or back where it is below 0. Whether there was enough. */
function moveCommitment(work: Work, { asset }: MarketState, { partyId, ammPartyId }: AMM, amount: bigint): boolean {
  const [owner, amm] = [generalAccount(partyId, asset), generalAccount(ammPartyId, asset)];
  if (amount > balanceOf(work.state, owner)) {
    return false;
  }
  const move =
    amount < 0n
      ? { from: amm, to: owner, amount: -amount, type: TransferType.AMM_RELEASE }
      : { from: owner, to: amm, amount, type: TransferType.AMM_LOW };
  emitMovements(work, amount === 0n ? [] : moveFunds(work, [move]));
  return true;
}

function withoutType<T extends { readonly $typeName: string }>(
  message: T | undefined,
): Omit<T, "$typeName"> | undefined {
  if (message === undefined) {
    return undefined;
  }
  const { $typeName: _, ...fields } = message;
  return fields;
}

function tell({ emit }: Work, value: AMM): void {
  emit({ case: "amm", value });
}
