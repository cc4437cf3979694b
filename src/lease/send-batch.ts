import { CoreService } from "../../gen/client/vega/api/v1/core_pb.js";
import type { BatchMarketInstructions } from "../../gen/vega/commands/v1/commands_pb.js";
import { OutcomeUnknownError, ProtocolError } from "../errors/index.js";
import { type CallOptions, toConnectOptions } from "../input/call-options.js";
import { type ExecutedCommand, execute, type ObservedNode } from "../live/execution.js";
import { sentTransaction } from "../live/sent-transaction.js";
import type { CommandPart } from "../live/transaction-outcome.js";
import type { RecentBlocks } from "../transaction/recent-blocks.js";
import type { CommandPreparation, Transactions } from "../transaction/transactions.js";
import { minValidity } from "../transaction/validity.js";
import type { LeaseSettings } from "./lease-options.js";
import type { LeaseLimits } from "./lease-services.js";

/** With what leases are signed, sent and observed. */
export interface SendingServices {
  readonly transactions: Transactions & CommandPreparation;
  readonly node: ObservedNode;
  readonly recentBlocks: RecentBlocks;
  readonly limits: (signal: AbortSignal) => Promise<LeaseLimits>;
}

/** A batch that is sent, and what is called on the way. */
export interface Sending {
  /** Makes the command; `time` is that of the latest block, in Unix nanoseconds. */
  readonly build: (time: bigint) => BatchMarketInstructions;
  /** Called once it is signed, before it is sent, with the parts of the command and their identifiers. */
  readonly onSigned: (parts: readonly CommandPart[], time: bigint) => void;
  /** Called if it was signed and certainly not sent. */
  readonly onUnsent: () => void;
}

/**
 * Reads the time of the chain: that of its latest block, as far as the node knows.
 *
 * @param node the node
 * @param signal ends the call
 * @returns the time, in Unix nanoseconds
 * @throws {@link ProtocolError} if the node gives none
 */
export async function readChainTime({ service }: ObservedNode, signal: AbortSignal): Promise<bigint> {
  const { timestamp } = await service(CoreService).getVegaTime({}, toConnectOptions({ signal }));
  if (timestamp <= 0n) {
    throw new ProtocolError(`the time of the chain is ${timestamp}, which is no time`, {
      advice: "Try another node, and report it to who runs this one.",
    });
  }
  return timestamp;
}

/**
 * Signs a batch, sends it once, and waits for its outcome. All times of expiry in it are absolute, so one that is executed late
 * does not extend a lease beyond what was intended when it was signed.
 *
 * @param services sign, send and observe
 * @param settings the signer, and how long leases are: the batch is valid for about as long, where that is possible
 * @param sending the batch
 * @param options a signal, and a time limit
 * @returns the transaction and its outcome
 * @throws what {@link execute} throws
 */
export async function sendBatch(
  services: SendingServices,
  { leaseMs, signing }: LeaseSettings,
  { build, onSigned, onUnsent }: Sending,
  options: Pick<CallOptions, "signal" | "timeoutMs">,
): Promise<ExecutedCommand> {
  const { transactions, node, recentBlocks, limits } = services;
  let isSigned = false;
  try {
    return await execute(node, options, async (signal) => {
      const { pastBlocks } = await limits(signal);
      const validForBlocks = validityOf(recentBlocks, leaseMs, pastBlocks);
      const time = await readChainTime(node, signal);
      const command = { case: "batchMarketInstructions", value: build(time) } as const;
      const prepared = await transactions.prepare(command, { ...signing, validForBlocks }, signal);
      onSigned(sentTransaction(prepared.transaction).parts, time);
      isSigned = true;
      return {
        ...prepared,
        isNew: true,
        isChecked: true,
        submit: (ending) => prepared.submit({ signal: ending }),
      };
    });
  } catch (reason) {
    if (isSigned && !(reason instanceof OutcomeUnknownError)) {
      onUnsent();
    }
    throw reason;
  }
}

/**
 * Returns in how many blocks a transaction may be executed, so that it is not executed long after its leases: the blocks of a
 * lease, or as few as the known blocks allow; `undefined` if they allow no limit yet.
 */
function validityOf(recentBlocks: RecentBlocks, leaseMs: number, past: number): number | undefined {
  const averageMs = recentBlocks.averageMs();
  const height = recentBlocks.last()?.height ?? 0n;
  const min = minValidity(past);
  const oldest = recentBlocks.oldestIn(height - BigInt(past - min), height);
  if (averageMs === undefined || oldest === undefined) {
    return undefined;
  }
  const shortest = past - Number(height - oldest.height);
  return Math.min(Math.max(Math.ceil(leaseMs / averageMs), shortest, min), past);
}
