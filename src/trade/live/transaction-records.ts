import { isMessage } from "@bufbuild/protobuf";
import { StopOrder_RejectionReason, StopOrder_Status } from "../../../gen/client/vega/vega_pb.js";
import type { ListEntitiesResponse } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import {
  BatchMarketInstructionsSchema,
  OrderAmendmentSchema,
  OrderCancellationSchema,
  UpdateMarginModeSchema,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import { type StopOrderEvent, type Transfer, Transfer_Status } from "../../../gen/vega/events/v1/events_pb.js";
import { type Proposal, Proposal_State, ProposalError } from "../../../gen/vega/governance_pb.js";
import {
  LiquidityProvision_Status,
  type MarginLevels,
  type Order,
  Order_Status,
  OrderError,
  type Withdrawal,
  Withdrawal_Status,
} from "../../../gen/vega/vega_pb.js";
import { debitedParty, ownerMismatch, type Sent } from "./sent-transaction.js";
import { isSameNumber, stopOrderMismatch } from "./stop-order-content.js";
import type { CommandPart } from "./transaction-outcome.js";

/**
 * What a stored record proves about the transaction that created it. `open` proves nothing: an order may be stopped for
 * an unknown reason.
 */
export type RecordState =
  | { readonly status: "executed" | "open"; readonly reason?: undefined; readonly text: string }
  | { readonly status: "failed"; readonly reason: string; readonly text: string };

type Records = Omit<ListEntitiesResponse, "$typeName" | "$unknown">;

/**
 * Reads the records that decide whether a transaction was executed. Others, such as ledger entries, also result from
 * transactions that failed. Records of other parties prove nothing: orders that trade with an order, and orders that a
 * triggered stop order submits, have the hash of the transaction that caused them.
 */
export function recordStates(records: Records, sent: Pick<Sent, "command" | "publicKey" | "message">): RecordState[] {
  const { transfers, withdrawals, proposals, liquidityProvisions, votes, delegations, marginLevels } = records;
  const { command, publicKey } = sent;
  const isOwn = (party: string, owner = publicKey) =>
    owner === undefined || party.toLowerCase() === owner.toLowerCase();
  const states: Readonly<Record<string, readonly RecordState[]>> = {
    transfer: transfers.filter(({ from }) => isOwn(from, debitedParty(sent))).map(transferState),
    withdrawal: withdrawals.filter(({ partyId }) => isOwn(partyId)).map(withdrawalState),
    proposal: proposals.filter(({ partyId }) => isOwn(partyId)).map(proposalState),
    liquidityProvision: liquidityProvisions
      .filter(({ partyId }) => isOwn(partyId))
      .map(({ status }) =>
        stateOf(`STATUS_${LiquidityProvision_Status[status]}`, status === LiquidityProvision_Status.REJECTED),
      ),
    vote: votes.filter(({ partyId }) => isOwn(partyId)).map(() => EXECUTED),
    delegation: delegations.filter(({ party }) => isOwn(party)).map(() => EXECUTED),
  };
  const levels = marginLevels.filter(({ partyId }) => isOwn(partyId)).flatMap((each) => marginState(each, sent));
  if (command === undefined) {
    return hasBatchRecords(records) ? [] : Object.values(states).flat();
  }
  const changed = records.orders.filter(({ partyId }) => isOwn(partyId)).flatMap((order) => changeState(order, sent));
  return [...changed, ...levels, ...(states[RECORDS_OF[command] ?? ""] ?? [])];
}

export function hasBatchRecords({ orders, trades }: Pick<Records, "orders" | "trades">): boolean {
  return orders.length > 0 || trades.length > 0;
}

/** Which records decide about a command. Orders, and changes of them, are found by identifier instead. */
const RECORDS_OF: Readonly<Record<string, string>> = {
  transfer: "transfer",
  cancelTransfer: "transfer",
  withdrawSubmission: "withdrawal",
  proposalSubmission: "proposal",
  batchProposalSubmission: "proposal",
  liquidityProvisionSubmission: "liquidityProvision",
  liquidityProvisionAmendment: "liquidityProvision",
  liquidityProvisionCancellation: "liquidityProvision",
  voteSubmission: "vote",
  delegateSubmission: "delegation",
  undelegateSubmission: "delegation",
};

/**
 * Returns whether a part of a command leaves a record that keeps the transaction's hash when it is executed. A later
 * transaction of the same block overwrites the hash of an order's version, a vote and a delegation (v0.78.0, `Orders.Add` in
 * `datanode/sqlstore/orders.go` and the keys of `datanode/entities`); a new order is also found by its identifier, and a
 * canceled one does not change any more. A cancellation of all orders may find none.
 */
export function leavesRecord(
  { command, message }: Pick<Sent, "command" | "message">,
  { path }: Pick<CommandPart, "path">,
): boolean {
  if (isMessage(message, OrderCancellationSchema)) {
    return message.orderId !== "";
  }
  if (isMessage(message, BatchMarketInstructionsSchema)) {
    const [, list, index] = /^(\w+)\[(\d+)\]$/.exec(path) ?? [];
    const cancelsOne = list === "cancellations" && (message.cancellations[Number(index)]?.orderId ?? "") !== "";
    return list === "submissions" || cancelsOne;
  }
  return LEAVING_RECORDS.has(command ?? "");
}

/** The commands that leave records. Those that change what exists, such as the cancellation of a transfer, may find nothing. */
const LEAVING_RECORDS: ReadonlySet<string> = new Set([
  "orderSubmission",
  "transfer",
  "withdrawSubmission",
  "proposalSubmission",
  "batchProposalSubmission",
  "liquidityProvisionSubmission",
]);

/**
 * What an order says of the amendment or cancellation under whose hash it is recorded. An amendment that fails may stop all
 * orders of the party under isolated margin (v0.78.0, `core/execution/future/market.go`), so that proves nothing.
 */
function changeState(order: Order, { message }: Pick<Sent, "message">): readonly RecordState[] {
  const { id, status, reason = 0, version } = order;
  const text = orderText(order);
  if (isMessage(message, OrderCancellationSchema)) {
    const isNamed = message.orderId === "" || message.orderId.toLowerCase() === id.toLowerCase();
    return isNamed && status === Order_Status.CANCELLED ? [stateOf(text, false)] : [];
  }
  if (!isMessage(message, OrderAmendmentSchema) || message.orderId.toLowerCase() !== id.toLowerCase()) {
    return [];
  }
  const isStopped = status === Order_Status.STOPPED && reason !== OrderError.SELF_TRADING && reason !== 0;
  const isOpen = isStopped || [Order_Status.UNSPECIFIED, Order_Status.REJECTED].includes(status) || version <= 1n;
  return [isOpen ? { status: "open", text } : stateOf(text, false)];
}

/**
 * What margin levels say of the change of the margin mode under whose hash they are recorded: the network works them out in the
 * new mode once it has accepted it (v0.78.0, `switchMarginMode` in `core/execution/future/market.go`). It does so only if the
 * mode or its factor is another one than before.
 */
function marginState(
  { marketId, marginMode, marginFactor }: MarginLevels,
  { message }: Pick<Sent, "message">,
): readonly RecordState[] {
  return isMessage(message, UpdateMarginModeSchema) &&
    marketId.toLowerCase() === message.marketId.toLowerCase() &&
    Number(marginMode) === Number(message.mode) &&
    isSameNumber(marginFactor, message.marginFactor)
    ? [EXECUTED]
    : [];
}

const EXECUTED: RecordState = { status: "executed", text: "recorded" };

export function transferState({ status, reason }: Pick<Transfer, "status" | "reason">): RecordState {
  return stateOf(`STATUS_${Transfer_Status[status]}`, status === Transfer_Status.REJECTED, reason);
}

export function withdrawalState({ status }: Pick<Withdrawal, "status">): RecordState {
  return stateOf(`STATUS_${Withdrawal_Status[status]}`, status === Withdrawal_Status.REJECTED);
}

export function proposalState(proposal: Pick<Proposal, "state" | "reason" | "errorDetails">): RecordState {
  const { state, reason, errorDetails } = proposal;
  const why = errorDetails || nameOf(ProposalError, reason, "PROPOSAL_ERROR_");
  return stateOf(`STATE_${Proposal_State[state]}`, state === Proposal_State.REJECTED, why);
}

/** An order, as far as it says what became of its submission. */
type OrderRecord = Pick<Order, "status" | "reason" | "version" | "size" | "remaining" | "icebergOrder">;

/**
 * For which reasons a submission fails that leaves a stopped order (v0.78.0, `IsStoppingOrder` in `core/types/matching.go`
 * and the callers of `unregisterAndReject` in `core/execution/future/market.go` and `core/execution/spot/market.go`).
 */
const FAILING_STOPS: readonly number[] = [
  OrderError.NON_PERSISTENT_ORDER_OUT_OF_PRICE_BOUNDS,
  OrderError.POST_ONLY_ORDER_WOULD_TRADE,
  OrderError.REDUCE_ONLY_ORDER_WOULD_NOT_REDUCE_POSITION,
];

/**
 * The reasons for which only accepted orders are stopped: the order was not filled immediately, it met an order of the same party
 * (`core/matching/orderbook.go`), or its market or party was closed out; or the party's isolated margin did not suffice any more
 * when it was in the book (`handleIsolatedMarginInsufficientOrderMargin`).
 */
const ACCEPTED_STOPS: readonly number[] = [
  OrderError.UNSPECIFIED,
  OrderError.SELF_TRADING,
  OrderError.ISOLATED_MARGIN_CHECK_FAILED,
];

/**
 * Reads what an order proves about its submission. The record is the latest version: an amendment, which creates a
 * version, may have stopped or rejected an order that was accepted.
 */
export function orderState(order: OrderRecord): RecordState {
  const { status, reason = 0, version } = order;
  const text = orderText(order);
  if (version > 1n) {
    return { status: "executed", text };
  }
  const isFilled = filledSize(order) > 0n;
  switch (status) {
    case Order_Status.UNSPECIFIED:
      return { status: "open", text };
    case Order_Status.REJECTED:
      return isFilled ? { status: "open", text } : { status: "failed", reason: orderReason(order), text };
    case Order_Status.STOPPED:
      if (isFilled || ACCEPTED_STOPS.includes(reason)) {
        return { status: "executed", text };
      }
      return FAILING_STOPS.includes(reason)
        ? { status: "failed", reason: orderReason(order), text }
        : { status: "open", text };
    default:
      return { status: "executed", text };
  }
}

/** How much of an order was traded, in units of its size. */
function filledSize({ size, remaining, icebergOrder }: OrderRecord): bigint {
  return size - remaining - (icebergOrder?.reservedRemaining ?? 0n);
}

function orderReason({ status, reason }: Pick<Order, "status" | "reason">): string {
  return nameOf(OrderError, reason, "ORDER_ERROR_") || `STATUS_${Order_Status[status]}`;
}

function orderText(order: OrderRecord): string {
  const filled = filledSize(order);
  return [
    `STATUS_${Order_Status[order.status] ?? order.status}`,
    nameOf(OrderError, order.reason, "ORDER_ERROR_"),
    order.version > 1n ? `version ${order.version}` : "",
    filled > 0n ? `${filled} of ${order.size} traded` : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
}

function stateOf(name: string, isRejected: boolean, why: string | undefined = ""): RecordState {
  const text = why === "" ? name : `${name}, ${why}`;
  return isRejected ? { status: "failed", reason: why === "" ? name : why, text } : { status: "executed", text: name };
}

/** The name of a reason in the definitions; empty if there is none. */
function nameOf(names: Readonly<Record<number, string>>, reason: number | undefined, prefix: string): string {
  return reason === undefined || reason === 0 ? "" : `${prefix}${names[reason] ?? reason}`;
}

export function recordTime({ ledgerEntries, trades, orders, transfers, votes }: Records): bigint | undefined {
  const times = [
    ...[...ledgerEntries, ...trades, ...transfers, ...votes].map(({ timestamp }) => timestamp),
    ...orders.map(({ createdAt, updatedAt }) => (updatedAt === 0n ? createdAt : updatedAt)),
  ];
  return times.find((time) => time > 0n);
}

/** How many orders are described one by one. */
const MAX_DESCRIBED = 5;

export function describeRecords(records: Records): string {
  const counts = Object.entries(records).flatMap(([name, list]) =>
    Array.isArray(list) && list.length > 0 ? [`${list.length} ${name}`] : [],
  );
  const orders = records.orders.slice(0, MAX_DESCRIBED).map((order) => `order ${order.id} is ${orderText(order)}`);
  return [counts.join(", "), ...orders].filter((part) => part !== "").join("; ");
}

/** Whether the network accepted a stop order. */
export type StopOrderState =
  | { readonly kind: "accepted" }
  | { readonly kind: "rejected"; readonly reason: string }
  /** It could not be read. */
  | { readonly kind: "unread"; readonly why: string }
  /** The record is that of another stop order. */
  | { readonly kind: "other"; readonly why: string };

export function stopOrderState(
  sent: Pick<Sent, "publicKey">,
  part: Pick<CommandPart, "id" | "marketId" | "stopOrder">,
  event: Pick<StopOrderEvent, "stopOrder" | "submission"> | undefined,
): StopOrderState | undefined {
  const stopOrder = event?.stopOrder;
  if (stopOrder === undefined || stopOrder.status === StopOrder_Status.UNSPECIFIED) {
    return undefined;
  }
  const other =
    ownerMismatch(sent, part, stopOrder) ??
    (part.stopOrder && stopOrderMismatch(part.stopOrder, { ...event, stopOrder }));
  if (other !== undefined) {
    return { kind: "other", why: `stop order ${part.id} ${other}` };
  }
  const { status, rejectionReason = 0 } = stopOrder;
  return status === StopOrder_Status.REJECTED
    ? { kind: "rejected", reason: `REJECTION_REASON_${StopOrder_RejectionReason[rejectionReason] ?? rejectionReason}` }
    : { kind: "accepted" };
}
