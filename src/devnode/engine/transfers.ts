import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import type { CancelTransfer, Transfer as TransferCommand } from "../../../gen/vega/commands/v1/commands_pb.js";
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
} from "../../../gen/vega/vega_pb.js";
import { epochOf } from "../data/epochs.js";
import { parseDecimal } from "./decimal.js";
import { emitMovements, type Move, moveFunds, openAccount } from "./funds.js";
import type { AccountKey } from "./identifiers.js";
import { balanceOf, generalAccount, networkAccount, openGeneralAccount } from "./ledger.js";
import type { Work } from "./state.js";
import { feeDiscountKey, transferFee, useFeeDiscount } from "./transfer-fees.js";

/** How many decimals of a factor count. */
const DECIMALS = 18;

/**
 * Carry out a transfer command (`core/banking`). A one-off transfer is paid at once, and delivered at once or at its time;
 * a recurring one is paid and delivered at the end of each epoch. Either is emitted, also where it is rejected.
 *
 * @param work the block
 * @param partyId the sender
 * @param command the transfer
 * @param id its identifier
 * @returns why it is rejected, if so, in the network's words
 */
export function submitTransfer(work: Work, partyId: string, command: TransferCommand, id: string): string | undefined {
  const transfer = transferOf(work, partyId, command, id);
  const reason = rejection(work, transfer, command.from) ?? start(work, transfer);
  const status = reason === undefined ? transfer.status : Transfer_Status.REJECTED;
  emitTransfer(work, { ...transfer, status }, reason);
  return reason;
}

/**
 * End a recurring transfer (`core/banking/cancel_transfer.go`).
 *
 * @param work the block
 * @param partyId who asks for it
 * @param command names the transfer
 * @returns why it goes on, if so
 */
export function cancelTransfer(work: Work, partyId: string, command: CancelTransfer): string | undefined {
  const { recurringTransfers } = work.state.registers;
  const transfer = recurringTransfers.get(command.transferId.toLowerCase());
  if (transfer === undefined) {
    return "recurring transfer does not exists";
  }
  if (transfer.from !== partyId) {
    return "cannot cancel other parties recurring transfers";
  }
  recurringTransfers.delete(transfer.id);
  emitTransfer(work, { ...transfer, status: Transfer_Status.CANCELLED }, "transfer cancelled");
  return undefined;
}

/** Deliver the one-off transfers whose time has come, the earliest first. */
export function deliverTransfers(work: Work): void {
  const { scheduledTransfers } = work.state.registers;
  const due = [...scheduledTransfers.values()]
    .filter((transfer) => deliverOn(transfer) <= work.block.time)
    .sort((a, b) => Number(deliverOn(a) - deliverOn(b)));
  emitMovements(
    work,
    due.flatMap((transfer) => {
      scheduledTransfers.delete(transfer.id);
      return moveFunds(work, [delivery(work, transfer, BigInt(transfer.amount), "")]);
    }),
  );
  for (const transfer of due) {
    emitTransfer(work, transfer);
  }
}

/**
 * Pay and deliver the recurring transfers of an epoch that ends (`core/banking/recurring_transfers.go`). Those that end
 * with it are done; those that cannot be paid are stopped.
 *
 * @param work the block
 * @param epoch the epoch
 */
export function repeatTransfers(work: Work, epoch: bigint): void {
  const { recurringTransfers } = work.state.registers;
  const movements: LedgerMovement[] = [];
  const ended: (readonly [Transfer, string?])[] = [];
  for (const transfer of recurringTransfers.values()) {
    const end = endOf(transfer, epoch);
    if (end === "waits") {
      continue;
    }
    const paid = end === "over" ? [] : payRecurring(work, transfer, epoch);
    if (typeof paid === "string") {
      ended.push([{ ...transfer, status: Transfer_Status.STOPPED }, paid]);
    } else {
      movements.push(...paid);
      if (end !== "goes on") {
        ended.push([{ ...transfer, status: Transfer_Status.DONE }]);
      }
    }
  }
  emitMovements(work, movements);
  for (const [transfer, reason] of ended) {
    recurringTransfers.delete(transfer.id);
    emitTransfer(work, transfer, reason);
  }
}

function transferOf({ block }: Work, from: string, command: TransferCommand, id: string): Transfer {
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

/** Why a transfer is rejected whatever the accounts hold. */
function rejection(work: Work, transfer: Transfer, derivedKey: string | undefined): string | undefined {
  if (!work.state.assets.has(transfer.asset)) {
    return "could not transfer funds: asset does not exist";
  }
  if (derivedKey !== undefined) {
    return `party ${transfer.from} does not own derived key ${derivedKey}`;
  }
  return tooSmall(work, transfer, BigInt(transfer.amount));
}

function tooSmall({ state }: Work, transfer: Transfer, amount: bigint): string | undefined {
  const multiple = state.registers.parameters.get("transfer.minTransferQuantumMultiple") ?? "0";
  const quantum = state.assets.get(transfer.asset)?.details?.quantum ?? "0";
  const least = (parseDecimal(quantum, DECIMALS) * parseDecimal(multiple, DECIMALS)) / 10n ** BigInt(2 * DECIMALS);
  if (amount >= least) {
    return undefined;
  }
  if (transfer.fromAccountType === AccountType.VESTED_REWARDS) {
    return amount === balanceOf(state, sender(transfer))
      ? undefined
      : "transfer from vested account under minimal transfer amount must be the full balance";
  }
  return "could not transfer funds, less than minimal amount requested to transfer";
}

/** Pay a one-off transfer, or note a recurring one. */
function start(work: Work, transfer: Transfer): string | undefined {
  openGeneralAccount(work, transfer.from, transfer.asset);
  if (transfer.kind.case !== "recurring") {
    const movements = pay(work, transfer, BigInt(transfer.amount), "");
    if (typeof movements === "string") {
      return movements;
    }
    emitMovements(work, movements);
    return undefined;
  }
  const { recurringTransfers } = work.state.registers;
  if ([...recurringTransfers.values()].some((other) => isSame(transfer, other))) {
    return "cannot submit duplicate recurring transfer with same from and to";
  }
  if (transfer.kind.value.startEpoch < epochOf(work.block.height)) {
    return "start epoch in the past";
  }
  recurringTransfers.set(transfer.id, transfer);
  return undefined;
}

function isSame(a: Transfer, b: Transfer): boolean {
  return (
    a.from === b.from &&
    a.to === b.to &&
    a.asset === b.asset &&
    a.fromAccountType === b.fromAccountType &&
    a.toAccountType === b.toAccountType &&
    a.gameId === b.gameId
  );
}

/** How a recurring transfer stands at the end of an epoch. */
function endOf({ kind }: Transfer, epoch: bigint): "waits" | "goes on" | "ends" | "over" {
  if (kind.case !== "recurring") {
    return "waits";
  }
  const { startEpoch, endEpoch, dispatchStrategy } = kind.value;
  if (startEpoch > epoch) {
    return "waits";
  }
  if (endEpoch !== undefined && endEpoch < epoch) {
    return "over";
  }
  const interval = BigInt(dispatchStrategy?.transferInterval ?? 1);
  if ((epoch - startEpoch + 1n) % interval !== 0n) {
    return "waits";
  }
  return endEpoch === epoch ? "ends" : "goes on";
}

/**
 * Pay a recurring transfer for an epoch. Of those with a dispatch strategy the local node pays only the ones by the ranking of
 * validators: it computes no other metric, and without one the network pays nothing either.
 */
function payRecurring(work: Work, transfer: Transfer, epoch: bigint): LedgerMovement[] | string {
  const { kind } = transfer;
  if (kind.case !== "recurring") {
    return [];
  }
  const { startEpoch, factor, dispatchStrategy } = kind.value;
  const passed = epoch - startEpoch;
  const scaled = parseDecimal(factor, DECIMALS) ** passed;
  const amount = (BigInt(transfer.amount) * scaled) / 10n ** (BigInt(DECIMALS) * passed);
  const small = tooSmall(work, transfer, amount);
  if (small !== undefined || dispatchStrategy === undefined) {
    return small ?? pay(work, transfer, amount, "");
  }
  const { fee } = feeOf(work, transfer, amount);
  if (balanceOf(work.state, sender(transfer)) < amount + fee) {
    return `could not pay the fee for transfer: ${NOT_ENOUGH}`;
  }
  const isRanked = dispatchStrategy.metric === DispatchMetric.VALIDATOR_RANKING;
  return isRanked ? pay(work, transfer, amount, hashOf(dispatchStrategy)) : [];
}

const NOT_ENOUGH = "not enough funds to transfer";

/** Pay an amount and its fee, and deliver it unless its time is to come. */
function pay(work: Work, transfer: Transfer, amount: bigint, toMarket: string): LedgerMovement[] | string {
  const { id, from, asset } = transfer;
  const { fee, discount } = feeOf(work, transfer, amount);
  useFeeDiscount(work, from, asset, discount);
  if (balanceOf(work.state, sender(transfer)) < amount + fee) {
    return `could not pay the fee for transfer: ${NOT_ENOUGH}`;
  }
  const pending = networkAccount(AccountType.PENDING_TRANSFERS, asset, "");
  const sent = { from: sender(transfer), to: pending, amount, type: TransferType.TRANSFER_FUNDS_SEND, transferId: id };
  const movements = moveFunds(work, [sent]);
  if (deliverOn(transfer) < work.block.time) {
    movements.push(...moveFunds(work, [delivery(work, transfer, amount, toMarket)]));
  } else {
    work.state.registers.scheduledTransfers.set(id, transfer);
  }
  const to = networkAccount(AccountType.FEES_INFRASTRUCTURE, asset, "");
  const type = TransferType.INFRASTRUCTURE_FEE_PAY;
  movements.push(...moveFunds(work, [{ from: sender(transfer), to, amount: fee, type }]));
  work.emit({
    case: "transferFees",
    value: create(TransferFeesSchema, {
      transferId: id,
      amount: String(fee),
      epoch: epochOf(work.block.height),
      discountApplied: String(discount),
    }),
  });
  return movements;
}

function feeOf({ state }: Work, { asset, from, fromAccountType, to }: Transfer, amount: bigint) {
  const { parameters, feeDiscounts } = state.registers;
  const quantum = state.assets.get(asset)?.details?.quantum ?? "0";
  const facts = { parameters, quantum, amount, from, fromAccountType, to, isFromDerivedKey: false };
  return transferFee(facts, feeDiscounts.get(feeDiscountKey(from, asset)) ?? 0n);
}

/** The move that delivers an amount. The receiver's account is opened if it is not there. */
function delivery(work: Work, { id, to, toAccountType, asset }: Transfer, amount: bigint, toMarket: string): Move {
  const isParty = toAccountType === AccountType.GENERAL;
  const account = isParty ? generalAccount(to, asset) : networkAccount(toAccountType, asset, toMarket);
  if (isParty) {
    openAccount(work, account);
  }
  const from = networkAccount(AccountType.PENDING_TRANSFERS, asset, "");
  return { from, to: account, amount, type: TransferType.TRANSFER_FUNDS_DISTRIBUTE, transferId: id };
}

function sender({ from, fromAccountType, asset }: Transfer): AccountKey {
  return { owner: from, asset, marketId: "", type: fromAccountType };
}

/** When a transfer is delivered, in Unix nanoseconds; 0 for at once. */
const deliverOn = ({ kind }: Transfer): bigint => (kind.case === "oneOff" ? kind.value.deliverOn : 0n);

/** The hash of a dispatch strategy: the identifier of its game, and the market of its reward account. */
function hashOf(strategy: DispatchStrategy): string {
  return createHash("sha3-256").update(toBinary(DispatchStrategySchema, strategy)).digest("hex");
}

function emitTransfer({ emit }: Work, transfer: Transfer, reason?: string): void {
  emit({ case: "transfer", value: reason === undefined ? transfer : { ...transfer, reason } });
}
