import { create } from "@bufbuild/protobuf";
import type { DelegateSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import { type UndelegateSubmission, UndelegateSubmission_Method } from "../../../gen/vega/commands/v1/commands_pb.js";
import { DelegationBalanceEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { epochOf } from "../data/epochs.js";
import { smaller } from "./decimal.js";
import type { Work } from "./state.js";

/**
 * Delegate tokens to a node, from the next epoch on (`core/delegation/engine.go`, Delegate).
 *
 * @param work the block
 * @param partyId who delegates
 * @param command the node, and how much
 * @returns why nothing was done, if so
 */
export function delegate(work: Work, partyId: string, { nodeId, amount }: DelegateSubmission): string | undefined {
  const { stakes, nextDelegations, parameters } = work.state.registers;
  const node = nodeId.toLowerCase();
  if (!work.state.validators.has(node)) {
    return "invalid node ID";
  }
  const stake = stakes.get(partyId);
  if (stake === undefined) {
    return "cannot find staking account for the party";
  }
  if (BigInt(amount) < BigInt(parameters.get("validators.delegation.minAmount") ?? "0")) {
    return "delegation amount is lower than the minimum amount for delegation for a validator";
  }
  const own = [...nextDelegations].filter(([key]) => key.startsWith(`${partyId} `));
  if (own.reduce((sum, [, delegated]) => sum + delegated, BigInt(amount)) > stake) {
    return "insufficient balance for delegation";
  }
  changeBy(work, nextDelegations, `${partyId} ${node}`, BigInt(amount), epochOf(work.block.height) + 1n);
  return undefined;
}

/**
 * Take tokens back from a node: at once, or with the end of the epoch. An amount of 0 stands for all of them.
 *
 * @param work the block
 * @param partyId who delegated
 * @param command the node, how much, and when
 * @returns why nothing was done, if so
 */
export function undelegate(work: Work, partyId: string, command: UndelegateSubmission): string | undefined {
  const { delegations, nextDelegations } = work.state.registers;
  const node = command.nodeId.toLowerCase();
  if (!work.state.validators.has(node)) {
    return "invalid node ID";
  }
  const key = `${partyId} ${node}`;
  const isNow = command.method === UndelegateSubmission_Method.NOW;
  const current = isNow ? (delegations.get(key) ?? 0n) : 0n;
  const next = nextDelegations.get(key) ?? 0n;
  const there = current > next ? current : next;
  const amount = command.amount === "" || BigInt(command.amount) === 0n ? there : BigInt(command.amount);
  if (amount > there) {
    return "incorrect token amount for undelegation";
  }
  const epoch = epochOf(work.block.height);
  if (current > 0n) {
    changeBy(work, delegations, key, -smaller(current, amount), epoch);
  }
  if (next > 0n) {
    changeBy(work, nextDelegations, key, -smaller(next, amount), epoch + 1n);
  }
  return undefined;
}

/** Put what was delegated into force, when an epoch begins. */
export function beginDelegations(work: Work): void {
  const { delegations, nextDelegations } = work.state.registers;
  delegations.clear();
  for (const [key, amount] of nextDelegations) {
    delegations.set(key, amount);
    tell(work, key, amount, epochOf(work.block.height));
  }
}

function changeBy(work: Work, all: Map<string, bigint>, key: string, by: bigint, epoch: bigint): void {
  const amount = (all.get(key) ?? 0n) + by;
  if (amount === 0n) {
    all.delete(key);
  } else {
    all.set(key, amount);
  }
  tell(work, key, amount, epoch);
}

function tell({ emit }: Work, key: string, amount: bigint, epoch: bigint): void {
  const [party = "", nodeId = ""] = key.split(" ");
  const about = { party, nodeId, amount: String(amount), epochSeq: String(epoch) };
  emit({ case: "delegationBalance", value: create(DelegationBalanceEventSchema, about) });
}
