import type { BatchMarketInstructions } from "../../../gen/vega/commands/v1/commands_pb.js";
import { OutcomeUnknownError } from "../../base/errors/index.js";
import type { CallOptions } from "../../base/input/call-options.js";
import { raceAbort } from "../../base/signal/abort.js";
import { type ExecutedCommand, execute, type ObservedNode } from "../live/execution.js";
import { sentTransaction } from "../live/sent-transaction.js";
import type { CommandPart, Outcome } from "../live/transaction-outcome.js";
import type { CommandPreparation, Transactions } from "../transaction/transactions.js";
import type { LeaseSettings } from "./lease-options.js";
import { applyOutcome, forgetUnsent, noteSigned, type ResultServices } from "./lease-results.js";
import type { LeaseState } from "./lease-state.js";
import { after, batchInstructions, type LeaseBatch } from "./renewal-plan.js";

/** A batch that was sent, and its outcome. */
export interface SentBatch {
  readonly txHash: string;
  readonly outcome: Outcome;
  readonly parts: readonly CommandPart[];
  /** The expiry of its orders, in Unix nanoseconds. */
  readonly expiresAt: bigint;
}

/** Sends batches, and applies their outcomes to the leases. */
export interface LeaseSender {
  send(
    batch: LeaseBatch,
    options: Pick<CallOptions, "signal" | "timeoutMs">,
    build?: (time: bigint) => BatchMarketInstructions,
  ): { readonly executed: Promise<SentBatch>; readonly isSigned: Promise<void> };
  /**
   * Plans and signs stop orders, after earlier callers have done so: two plans from the same state together could place
   * more stop orders than the network allows.
   */
  inTurn<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T>;
  /** Waits until the outcomes of all batches are known or can no longer become known. */
  settled(): Promise<void>;
}

export function createLeaseSender(
  state: LeaseState,
  services: SendingServices,
  settings: LeaseSettings,
  results: ResultServices,
): LeaseSender {
  const { leaseMs } = settings;
  const running = new Set<Promise<unknown>>();
  const ignore = () => undefined;
  let turn: Promise<unknown> = Promise.resolve();

  return {
    send(batch, options, build = (time) => batchInstructions(batch, time, leaseMs)) {
      let signed: readonly CommandPart[] = [];
      let expiresAt = 0n;
      let resolveSigned = (): void => {};
      const signing = new Promise<void>((resolve) => {
        resolveSigned = resolve;
      });
      const sending = {
        readTime: (signal: AbortSignal) => state.clock.read(services.node, signal),
        build,
        onSigned(parts: readonly CommandPart[], time: bigint) {
          signed = parts;
          expiresAt = after(time, leaseMs);
          noteSigned(state, batch, parts, { time, leaseMs });
          resolveSigned();
        },
        onUnsent: () => forgetUnsent(state, batch, signed),
      };
      const executed = sendBatch(services, settings, sending, options).then(async ({ outcome, txHash }) => {
        await applyOutcome(state, batch, outcome, results);
        return { outcome, txHash, expiresAt, parts: signed };
      });
      const ended = executed.then(ignore, ignore);
      running.add(ended);
      void ended.then(() => running.delete(ended));
      return { executed, isSigned: Promise.race([signing, ended]) };
    },

    inTurn(signal, act) {
      const before = turn;
      const acting = raceAbort(before, signal).then(act);
      turn = Promise.allSettled([before, acting]);
      return acting;
    },

    async settled() {
      await Promise.all(running);
    },
  };
}

/** The services that sign, send and observe leases. */
export interface SendingServices {
  readonly transactions: Transactions & CommandPreparation;
  readonly node: ObservedNode;
}

/** A batch to send, and the callbacks of its stages. */
interface Sending {
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
async function sendBatch(
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
