import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import type {
  CancelTransfer,
  Transfer as TransferCommand,
  WithdrawSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  type Transfer,
  Transfer_Status,
  TransferFeesSchema,
  TransferSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import {
  AccountType,
  DispatchMetric,
  type DispatchStrategy,
  DispatchStrategySchema,
  type LedgerMovement,
  TransferType,
  Withdrawal_Status,
  WithdrawalSchema,
} from "../../../gen/vega/vega_pb.js";
import { min } from "../../base/bigints.js";
import { epochOf } from "../world/epochs.js";
import {
  type AccountKey,
  balanceOf,
  emitLedgerMovements,
  type FundsTransfer,
  generalAccount,
  networkAccount,
  openAccount,
  openGeneralAccount,
  transferFunds,
} from "./collateral.js";
import type { ExecutionContext } from "./engine-state.js";
import { ONE, parseFixedPoint } from "./fixed-point.js";

export interface TransferFeeInput {
  readonly parameters: ReadonlyMap<string, string>;
  /** The asset's quantum, in units of its last decimal. */
  readonly quantum: string;
  /** In units of the asset's last decimal. */
  readonly amount: bigint;
  readonly from: string;
  readonly fromAccountType: AccountType;
  readonly to: string;
  /** Whether the source account belongs to a key that is derived from the sender's. */
  readonly isFromDerivedKey: boolean;
}

/**
 * Applies a transfer command (`core/banking`). A one-off transfer is paid immediately, and delivered immediately or at
 * its time. A recurring transfer is paid and delivered at the end of each epoch. The transfer is emitted even if it is
 * rejected.
 */
export function submitTransfer(
  context: ExecutionContext,
  partyId: string,
  command: TransferCommand,
  id: string,
): string | undefined {
  const transfer = transferOf(context, partyId, command, id);
  const reason = rejection(context, transfer, command.from) ?? start(context, transfer);
  const status = reason === undefined ? transfer.status : Transfer_Status.REJECTED;
  emitTransfer(context, { ...transfer, status }, reason);
  return reason;
}

/** Cancels a recurring transfer (`core/banking/cancel_transfer.go`). */
export function cancelTransfer(
  context: ExecutionContext,
  partyId: string,
  command: CancelTransfer,
): string | undefined {
  const { recurringTransfers } = context.state;
  const transfer = recurringTransfers.get(command.transferId.toLowerCase());
  if (transfer === undefined) {
    return "recurring transfer does not exists";
  }
  if (transfer.from !== partyId) {
    return "cannot cancel other parties recurring transfers";
  }
  recurringTransfers.delete(transfer.id);
  emitTransfer(context, { ...transfer, status: Transfer_Status.CANCELLED }, "transfer cancelled");
  return undefined;
}

/** Delivers the scheduled one-off transfers that are due, earliest first. */
export function distributeScheduledTransfers(context: ExecutionContext): void {
  const { scheduledTransfers } = context.state;
  const due = [...scheduledTransfers.values()]
    .filter((transfer) => deliverOn(transfer) <= context.block.time)
    .sort((a, b) => Number(deliverOn(a) - deliverOn(b)));
  emitLedgerMovements(
    context,
    due.flatMap((transfer) => {
      scheduledTransfers.delete(transfer.id);
      return transferFunds(context, [delivery(context, transfer, BigInt(transfer.amount), "")]);
    }),
  );
  for (const transfer of due) {
    emitTransfer(context, transfer);
  }
}

/**
 * Pays and delivers the recurring transfers of an ending epoch (`core/banking/recurring_transfers.go`). Transfers in
 * their final epoch are done. Transfers that cannot be paid are stopped.
 */
export function distributeRecurringTransfers(context: ExecutionContext, epoch: bigint): void {
  const { recurringTransfers } = context.state;
  const movements: LedgerMovement[] = [];
  const finished: (readonly [Transfer, string?])[] = [];
  for (const transfer of recurringTransfers.values()) {
    const status = epochStatus(transfer, epoch);
    if (status === "not due") {
      continue;
    }
    const paid = status === "expired" ? [] : payRecurring(context, transfer, epoch);
    if (typeof paid === "string") {
      finished.push([{ ...transfer, status: Transfer_Status.STOPPED }, paid]);
    } else {
      movements.push(...paid);
      if (status !== "due") {
        finished.push([{ ...transfer, status: Transfer_Status.DONE }]);
      }
    }
  }
  emitLedgerMovements(context, movements);
  for (const [transfer, reason] of finished) {
    recurringTransfers.delete(transfer.id);
    emitTransfer(context, transfer, reason);
  }
}

function transferOf({ block }: ExecutionContext, from: string, command: TransferCommand, id: string): Transfer {
  const { fromAccountType, toAccountType, amount, kind } = command;
  const strategy = kind.case === "recurring" ? kind.value.dispatchStrategy : undefined;
  const isOneOff = kind.case === "oneOff";
  return create(TransferSchema, {
    id,
    from,
    fromAccountType,
    to: command.to.toLowerCase(),
    toAccountType,
    asset: command.asset.toLowerCase(),
    amount,
    reference: command.reference.replaceAll("\0", ""),
    status: isOneOff ? Transfer_Status.DONE : Transfer_Status.PENDING,
    timestamp: block.time,
    ...(strategy !== undefined && { gameId: hashOf(strategy) }),
    kind: isOneOff
      ? { case: "oneOff", value: { deliverOn: kind.value.deliverOn } }
      : {
          case: "recurring",
          value: {
            startEpoch: kind.value?.startEpoch ?? 0n,
            factor: kind.value?.factor ?? "",
            ...(kind.value?.endEpoch !== undefined && { endEpoch: kind.value.endEpoch }),
            ...(strategy !== undefined && { dispatchStrategy: strategy }),
          },
        },
  });
}

/** Returns the error of a transfer that is invalid regardless of balances. */
function rejection(context: ExecutionContext, transfer: Transfer, derivedKey: string | undefined): string | undefined {
  if (!context.state.assets.has(transfer.asset)) {
    return "could not transfer funds: asset does not exist";
  }
  if (derivedKey !== undefined) {
    return `party ${transfer.from} does not own derived key ${derivedKey}`;
  }
  return minimumAmountError(context, transfer, BigInt(transfer.amount));
}

function minimumAmountError({ state }: ExecutionContext, transfer: Transfer, amount: bigint): string | undefined {
  const multiple = state.parameters.get("transfer.minTransferQuantumMultiple") ?? "0";
  const quantum = state.assets.get(transfer.asset)?.details?.quantum ?? "0";
  const minimum = (parseFixedPoint(quantum) * parseFixedPoint(multiple)) / ONE / ONE;
  if (amount >= minimum) {
    return undefined;
  }
  if (transfer.fromAccountType === AccountType.VESTED_REWARDS) {
    return amount === balanceOf(state, sender(transfer))
      ? undefined
      : "transfer from vested account under minimal transfer amount must be the full balance";
  }
  return "could not transfer funds, less than minimal amount requested to transfer";
}

/** Pays a one-off transfer, or stores a recurring one. */
function start(context: ExecutionContext, transfer: Transfer): string | undefined {
  openGeneralAccount(context, transfer.from, transfer.asset);
  if (transfer.kind.case !== "recurring") {
    const movements = pay(context, transfer, BigInt(transfer.amount), "");
    if (typeof movements === "string") {
      return movements;
    }
    emitLedgerMovements(context, movements);
    return undefined;
  }
  const { recurringTransfers } = context.state;
  if ([...recurringTransfers.values()].some((other) => isDuplicate(transfer, other))) {
    return "cannot submit duplicate recurring transfer with same from and to";
  }
  if (transfer.kind.value.startEpoch < epochOf(context.block.height)) {
    return "start epoch in the past";
  }
  recurringTransfers.set(transfer.id, transfer);
  return undefined;
}

function isDuplicate(a: Transfer, b: Transfer): boolean {
  return (
    a.from === b.from &&
    a.to === b.to &&
    a.asset === b.asset &&
    a.fromAccountType === b.fromAccountType &&
    a.toAccountType === b.toAccountType &&
    a.gameId === b.gameId
  );
}

/** Returns whether a recurring transfer is due at the end of an epoch. */
function epochStatus({ kind }: Transfer, epoch: bigint): "not due" | "due" | "final" | "expired" {
  if (kind.case !== "recurring") {
    return "not due";
  }
  const { startEpoch, endEpoch, dispatchStrategy } = kind.value;
  if (startEpoch > epoch) {
    return "not due";
  }
  if (endEpoch !== undefined && endEpoch < epoch) {
    return "expired";
  }
  const interval = BigInt(dispatchStrategy?.transferInterval ?? 1);
  if ((epoch - startEpoch + 1n) % interval !== 0n) {
    return "not due";
  }
  return endEpoch === epoch ? "final" : "due";
}

/**
 * Pays a recurring transfer for an epoch. With a dispatch strategy, the local node pays by validator ranking only: it
 * computes no other metric, and the network pays nothing for a metric without scores either.
 */
function payRecurring(context: ExecutionContext, transfer: Transfer, epoch: bigint): LedgerMovement[] | string {
  const { kind } = transfer;
  if (kind.case !== "recurring") {
    return [];
  }
  const { startEpoch, factor, dispatchStrategy } = kind.value;
  const passed = epoch - startEpoch;
  const scaled = parseFixedPoint(factor) ** passed;
  const amount = (BigInt(transfer.amount) * scaled) / ONE ** passed;
  const small = minimumAmountError(context, transfer, amount);
  if (small !== undefined || dispatchStrategy === undefined) {
    return small ?? pay(context, transfer, amount, "");
  }
  const fee = feeOf(context, transfer, amount);
  if (balanceOf(context.state, sender(transfer)) < amount + fee) {
    return `could not pay the fee for transfer: ${NOT_ENOUGH}`;
  }
  const isRanked = dispatchStrategy.metric === DispatchMetric.VALIDATOR_RANKING;
  return isRanked ? pay(context, transfer, amount, hashOf(dispatchStrategy)) : [];
}

const NOT_ENOUGH = "not enough funds to transfer";

/** Pays an amount and its fee, and delivers or schedules it. */
function pay(
  context: ExecutionContext,
  transfer: Transfer,
  amount: bigint,
  toMarket: string,
): LedgerMovement[] | string {
  const { id, asset } = transfer;
  const fee = feeOf(context, transfer, amount);
  if (balanceOf(context.state, sender(transfer)) < amount + fee) {
    return `could not pay the fee for transfer: ${NOT_ENOUGH}`;
  }
  const pending = networkAccount(AccountType.PENDING_TRANSFERS, asset, "");
  const sent = { from: sender(transfer), to: pending, amount, type: TransferType.TRANSFER_FUNDS_SEND, transferId: id };
  const movements = transferFunds(context, [sent]);
  if (deliverOn(transfer) < context.block.time) {
    movements.push(...transferFunds(context, [delivery(context, transfer, amount, toMarket)]));
  } else {
    context.state.scheduledTransfers.set(id, transfer);
  }
  const to = networkAccount(AccountType.FEES_INFRASTRUCTURE, asset, "");
  const type = TransferType.INFRASTRUCTURE_FEE_PAY;
  movements.push(...transferFunds(context, [{ from: sender(transfer), to, amount: fee, type }]));
  context.emit({
    case: "transferFees",
    value: create(TransferFeesSchema, {
      transferId: id,
      amount: String(fee),
      epoch: epochOf(context.block.height),
      discountApplied: "0",
    }),
  });
  return movements;
}

function feeOf({ state }: ExecutionContext, { asset, from, fromAccountType, to }: Transfer, amount: bigint): bigint {
  const { parameters } = state;
  const quantum = state.assets.get(asset)?.details?.quantum ?? "0";
  return transferFee({ parameters, quantum, amount, from, fromAccountType, to, isFromDerivedKey: false });
}

/** Returns the funds transfer that delivers an amount. It opens the receiver's account if necessary. */
function delivery(
  context: ExecutionContext,
  { id, to, toAccountType, asset }: Transfer,
  amount: bigint,
  toMarket: string,
): FundsTransfer {
  const isParty = toAccountType === AccountType.GENERAL;
  const account = isParty ? generalAccount(to, asset) : networkAccount(toAccountType, asset, toMarket);
  if (isParty) {
    openAccount(context, account);
  }
  const from = networkAccount(AccountType.PENDING_TRANSFERS, asset, "");
  return { from, to: account, amount, type: TransferType.TRANSFER_FUNDS_DISTRIBUTE, transferId: id };
}

function sender({ from, fromAccountType, asset }: Transfer): AccountKey {
  return { owner: from, asset, marketId: "", type: fromAccountType };
}

/** Returns the delivery time in Unix nanoseconds; 0 for immediate delivery. */
const deliverOn = ({ kind }: Transfer): bigint => (kind.case === "oneOff" ? kind.value.deliverOn : 0n);

/** Returns the hash of a dispatch strategy, which is the game's identifier and the market of its reward account. */
function hashOf(strategy: DispatchStrategy): string {
  return createHash("sha3-256").update(toBinary(DispatchStrategySchema, strategy)).digest("hex");
}

function emitTransfer({ emit }: ExecutionContext, transfer: Transfer, reason?: string): void {
  emit({ case: "transfer", value: reason === undefined ? transfer : { ...transfer, reason } });
}

/**
 * Computes the fee of a transfer: its amount times `transfer.fee.factor`, limited to `transfer.fee.maxQuantumAmount`
 * quantums (`core/banking/fee_estimate.go`). A party pays no fee for its own vested rewards. The local node has no discounts.
 */
export function transferFee(facts: TransferFeeInput): bigint {
  const { parameters, quantum, amount, from, fromAccountType, to, isFromDerivedKey } = facts;
  if (fromAccountType === AccountType.VESTED_REWARDS && (from === to || isFromDerivedKey)) {
    return 0n;
  }
  const factor = parseFixedPoint(parameters.get("transfer.fee.factor") ?? "0");
  const maxQuantums = parameters.get("transfer.fee.maxQuantumAmount");
  const share = (amount * factor) / ONE;
  const limit =
    maxQuantums === undefined ? share : (parseFixedPoint(maxQuantums) * parseFixedPoint(quantum)) / ONE / ONE;
  return min(share, limit);
}

/**
 * Withdraws funds (`core/banking`). The withdrawal of a built-in asset is finalized immediately. The withdrawal of an
 * Ethereum asset stays open, because the local node has no bridge.
 */
export function withdraw(
  context: ExecutionContext,
  partyId: string,
  command: WithdrawSubmission,
  id: string,
): string | undefined {
  const { state, block, emit } = context;
  const { withdrawals } = state;
  const assetId = command.asset.toLowerCase();
  const asset = state.assets.get(assetId);
  if (asset === undefined) {
    return "asset does not exist";
  }
  openGeneralAccount(context, partyId, assetId);
  const from = generalAccount(partyId, assetId);
  const amount = BigInt(command.amount);
  const isPaid = balanceOf(state, from) >= amount;
  const isBuiltin = asset.details?.source.case === "builtinAsset";
  if (isPaid) {
    const to = networkAccount(AccountType.EXTERNAL, assetId, "");
    emitLedgerMovements(context, transferFunds(context, [{ from, to, amount, type: TransferType.WITHDRAW }]));
  }
  const status = !isPaid
    ? Withdrawal_Status.REJECTED
    : isBuiltin
      ? Withdrawal_Status.FINALIZED
      : Withdrawal_Status.OPEN;
  const withdrawal = create(WithdrawalSchema, {
    ...{ id, partyId, asset: assetId, amount: command.amount, status, createdTimestamp: block.time },
    ref: String(block.time / 1_000_000_000n + BigInt(withdrawals.size)),
    ...(command.ext !== undefined && !isBuiltin && { ext: command.ext }),
  });
  withdrawals.set(id, withdrawal);
  emit({ case: "withdrawal", value: withdrawal });
  return isPaid ? undefined : "not enough funds to withdraw";
}
