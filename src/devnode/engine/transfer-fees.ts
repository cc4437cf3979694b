import { create } from "@bufbuild/protobuf";
import { TransferFeesDiscountSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { AccountType } from "../../../gen/vega/vega_pb.js";
import { epochOf } from "../data/epochs.js";
import { parseDecimal, smaller } from "./decimal.js";
import type { Work } from "./state.js";

/** How many decimals of parameters and factors count. */
const DECIMALS = 18;
const ONE = 10n ** BigInt(DECIMALS);

/** What a transfer's fee depends on. */
export interface FeeFacts {
  readonly parameters: ReadonlyMap<string, string>;
  /** The smallest amount of the asset that counts, in units of its last decimal. */
  readonly quantum: string;
  /** In units of the asset's last decimal. */
  readonly amount: bigint;
  readonly from: string;
  readonly fromAccountType: AccountType;
  readonly to: string;
  /** Whether the amount leaves an account of a key that was derived from the sender's. */
  readonly isFromDerivedKey: boolean;
}

/** A fee, and how much of it a discount covers: amounts in units of the asset's last decimal. */
export interface Fee {
  readonly fee: bigint;
  readonly discount: bigint;
}

/**
 * Compute the fee of a transfer: the share `transfer.fee.factor` of its amount, at most as many quantums as
 * `transfer.fee.maxQuantumAmount` says, less a discount (`core/banking/fee_estimate.go`). A party pays nothing for what
 * leaves its own vested rewards.
 *
 * @param facts the transfer, and the network's parameters
 * @param available the discount that the sender has left
 * @returns what is paid, and what the discount covers
 */
export function transferFee(facts: FeeFacts, available: bigint): Fee {
  const { parameters, quantum, amount, from, fromAccountType, to, isFromDerivedKey } = facts;
  if (fromAccountType === AccountType.VESTED_REWARDS && (from === to || isFromDerivedKey)) {
    return { fee: 0n, discount: 0n };
  }
  const factor = parseDecimal(parameters.get("transfer.fee.factor") ?? "0", DECIMALS);
  const most = parameters.get("transfer.fee.maxQuantumAmount");
  const share = (amount * factor) / ONE;
  const limit =
    most === undefined ? share : (parseDecimal(most, DECIMALS) * parseDecimal(quantum, DECIMALS)) / ONE / ONE;
  const full = smaller(share, limit);
  const discount = smaller(full, available);
  return { fee: full - discount, discount };
}

/**
 * Take the discount of a fee from what a party has left, and emit what remains.
 *
 * @param work the block
 * @param party the party
 * @param asset the asset of the fee
 * @param discount the part of the fee that it covers; nothing happens where it is 0
 */
export function useFeeDiscount({ state, block, emit }: Work, party: string, asset: string, discount: bigint): void {
  if (discount === 0n) {
    return;
  }
  const key = feeDiscountKey(party, asset);
  const left = (state.registers.feeDiscounts.get(key) ?? 0n) - discount;
  state.registers.feeDiscounts.set(key, left);
  const epoch = epochOf(block.height);
  const value = create(TransferFeesDiscountSchema, { party, asset, amount: String(left), epoch });
  emit({ case: "transferFeesDiscount", value });
}

/** What the discount of a party in an asset is found by. */
export const feeDiscountKey = (party: string, asset: string): string => `${party} ${asset}`;
