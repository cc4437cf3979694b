import type { ListEntitiesResponse } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { type Transfer, Transfer_Status } from "../../gen/vega/events/v1/events_pb.js";
import { type Proposal, Proposal_State, ProposalError } from "../../gen/vega/governance_pb.js";
import {
  LiquidityProvision_Status,
  type Order,
  Order_Status,
  OrderError,
  type Withdrawal,
  Withdrawal_Status,
} from "../../gen/vega/vega_pb.js";

/**
 * What a record that the data node stores says of the transaction that made it. `open` leaves it open: an order that was
 * stopped may be one that was not filled, or one that broke a rule.
 */
export type RecordState =
  | { readonly status: "executed" | "open"; readonly reason?: undefined; readonly text: string }
  | { readonly status: "failed"; readonly reason: string; readonly text: string };

/** The records of one transaction. */
type Records = Omit<ListEntitiesResponse, "$typeName" | "$unknown">;

/**
 * Reads the records that decide whether a transaction was executed. Others, such as ledger entries, also come of
 * transactions that failed.
 *
 * @param records the records that the data node stores of a transaction
 * @param command the kind of its command, such as `transfer`; `undefined` where only its hash is known
 * @returns what each record says
 */
export function recordStates(records: Records, command: string | undefined): readonly RecordState[] {
  const { orders, transfers, withdrawals, proposals, liquidityProvisions, votes, delegations } = records;
  const states: Readonly<Record<string, readonly RecordState[]>> = {
    order: orders.map(orderState),
    transfer: transfers.map(transferState),
    withdrawal: withdrawals.map(withdrawalState),
    proposal: proposals.map(proposalState),
    liquidityProvision: liquidityProvisions.map(({ status }) =>
      stateOf(`STATUS_${LiquidityProvision_Status[status]}`, status === LiquidityProvision_Status.REJECTED),
    ),
    vote: votes.map(() => EXECUTED),
    delegation: delegations.map(() => EXECUTED),
  };
  if (command === undefined) {
    return Object.values(states).flat();
  }
  return states[RECORDS_OF[command] ?? ""] ?? [];
}

/** Which records decide about a command. */
const RECORDS_OF: Readonly<Record<string, string>> = {
  orderSubmission: "order",
  orderAmendment: "order",
  orderCancellation: "order",
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

const EXECUTED: RecordState = { status: "executed", text: "recorded" };

/**
 * Reads what a transfer says of the transaction that made it.
 *
 * @param transfer the transfer as the data node stores it
 * @returns what it says
 */
export function transferState({ status, reason }: Pick<Transfer, "status" | "reason">): RecordState {
  return stateOf(`STATUS_${Transfer_Status[status]}`, status === Transfer_Status.REJECTED, reason);
}

/**
 * Reads what a withdrawal says of the transaction that made it.
 *
 * @param withdrawal the withdrawal as the data node stores it
 * @returns what it says
 */
export function withdrawalState({ status }: Pick<Withdrawal, "status">): RecordState {
  return stateOf(`STATUS_${Withdrawal_Status[status]}`, status === Withdrawal_Status.REJECTED);
}

/**
 * Reads what a proposal says of the transaction that made it.
 *
 * @param proposal the proposal as the data node stores it
 * @returns what it says
 */
export function proposalState(proposal: Pick<Proposal, "state" | "reason" | "errorDetails">): RecordState {
  const { state, reason, errorDetails } = proposal;
  const why = errorDetails || nameOf(ProposalError, reason, "PROPOSAL_ERROR_");
  return stateOf(`STATE_${Proposal_State[state]}`, state === Proposal_State.REJECTED, why);
}

/**
 * Reads what an order says of the transaction that submitted or changed it.
 *
 * @param order the order as the data node stores it
 * @returns what it says
 */
export function orderState({ status, reason }: Pick<Order, "status" | "reason">): RecordState {
  const name = `STATUS_${Order_Status[status] ?? status}`;
  const why = nameOf(OrderError, reason, "ORDER_ERROR_");
  switch (status) {
    case Order_Status.UNSPECIFIED:
      return { status: "open", text: name };
    case Order_Status.REJECTED:
      return stateOf(name, true, why);
    case Order_Status.STOPPED:
      return why === "" ? { status: "open", text: name } : stateOf(name, true, why);
    default:
      return stateOf(name, false);
  }
}

function stateOf(name: string, isRejected: boolean, why: string | undefined = ""): RecordState {
  const text = why === "" ? name : `${name}, ${why}`;
  return isRejected ? { status: "failed", reason: why === "" ? name : why, text } : { status: "executed", text: name };
}

/** The name of a reason as the definitions write it; empty where there is none. */
function nameOf(names: Readonly<Record<number, string>>, reason: number | undefined, prefix: string): string {
  return reason === undefined || reason === 0 ? "" : `${prefix}${names[reason] ?? reason}`;
}

/**
 * Reads when the block of a transaction was.
 *
 * @param records the records of the transaction
 * @returns the block's time in Unix nanoseconds, cut to microseconds; `undefined` where no record has it
 */
export function recordTime({ ledgerEntries, trades, orders, transfers, votes }: Records): bigint | undefined {
  const times = [
    ...[...ledgerEntries, ...trades, ...transfers, ...votes].map(({ timestamp }) => timestamp),
    ...orders.map(({ createdAt, updatedAt }) => (updatedAt === 0n ? createdAt : updatedAt)),
  ];
  return times.find((time) => time > 0n);
}

/**
 * Describes the records of a transaction for people.
 *
 * @param records the records
 * @returns how many of each kind there are, such as `1 orders, 2 ledgerEntries`; `none`
 */
export function describeRecords(records: Records): string {
  const counts = Object.entries(records).flatMap(([name, list]) =>
    Array.isArray(list) && list.length > 0 ? [`${list.length} ${name}`] : [],
  );
  return counts.length === 0 ? "none" : counts.join(", ");
}
