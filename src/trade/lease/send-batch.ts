import type { BatchMarketInstructions } from "../../../gen/vega/commands/v1/commands_pb.js";
import { OutcomeUnknownError } from "../../base/errors/index.js";
import type { CallOptions } from "../../base/input/call-options.js";
import { type ExecutedCommand, execute, type ObservedNode } from "../live/execution.js";
import { sentTransaction } from "../live/sent-transaction.js";
import type { CommandPart } from "../live/transaction-outcome.js";
import type { CommandPreparation, Transactions } from "../transaction/transactions.js";
import type { LeaseSettings } from "./lease-options.js";

/** The services that sign, send and observe leases. */
export interface SendingServices {
  readonly transactions: Transactions & CommandPreparation;
  readonly node: ObservedNode;
}

/** A batch to send, and the callbacks of its stages. */
export interface Sending {
  /** Reads the time of the chain, in Unix nanoseconds. */
  readonly readTime: (signal: AbortSignal) => Promise<bigint>;
  /** Creates the command; `time` is that of the latest block, in Unix nanoseconds. */
  readonly build: (time: bigint) => BatchMarketInstructions;
  /** Called once it is signed, before it is sent, with the parts of the command and their identifiers. */
  readonly onSigned: (parts: readonly CommandPart[], time: bigint) => void;
  /** Called if it was signed and certainly not sent. */
  readonly onUnsent: () => void;
}

/**
 * Signs a batch, sends it once, and waits for its outcome. All expiries in it are absolute, so a batch that is executed
 * late does not extend a lease beyond the time that was intended when it was signed.
 *
 * @throws the errors of {@link execute}
 */
export async function sendBatch(
  services: SendingServices,
  { leaseMs, signing }: LeaseSettings,
  { readTime, build, onSigned, onUnsent }: Sending,
  options: Pick<CallOptions, "signal" | "timeoutMs">,
): Promise<ExecutedCommand> {
  const { transactions, node } = services;
  let isSigned = false;
  try {
    return await execute(node, options, async (signal) => {
      const time = await readTime(signal);
      const command = { case: "batchMarketInstructions", value: build(time) } as const;
      const prepared = await transactions.prepare(command, { ...signing, aboutMs: leaseMs, isUrgent: true }, signal);
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
