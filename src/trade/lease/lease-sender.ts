import { OutcomeUnknownError } from "../../base/errors/index.js";
import type { CallOptions } from "../../base/input/call-options.js";
import { raceAbort } from "../../base/signal/abort.js";
import { execute, type ObservedNode } from "../live/execution.js";
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
  /**
   * Signs a batch, sends it once, and waits for its outcome. All expiries in it are absolute, so a batch that is executed
   * late does not extend a lease beyond the time that was intended when it was signed.
   */
  send(
    batch: LeaseBatch,
    options: Pick<CallOptions, "signal" | "timeoutMs">,
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
  { transactions, node }: SendingServices,
  { leaseMs, signing }: LeaseSettings,
  results: ResultServices,
): LeaseSender {
  const running = new Set<Promise<unknown>>();
  const ignore = () => undefined;
  let turn: Promise<unknown> = Promise.resolve();

  return {
    send(batch, options) {
      let signed: readonly CommandPart[] | undefined;
      let expiresAt = 0n;
      let resolveSigned = (): void => {};
      const whenSigned = new Promise<void>((resolve) => {
        resolveSigned = resolve;
      });
      const executed = execute(node, options, async (signal) => {
        const time = await state.clock.read(node, signal);
        const command = { case: "batchMarketInstructions", value: batchInstructions(batch, time, leaseMs) } as const;
        const prepared = await transactions.prepare(command, { ...signing, aboutMs: leaseMs, isUrgent: true }, signal);
        signed = sentTransaction(prepared.transaction).parts;
        expiresAt = after(time, leaseMs);
        noteSigned(state, batch, signed, { time, leaseMs });
        resolveSigned();
        return {
          ...prepared,
          isNew: true,
          isChecked: true,
          submit: (ending) => prepared.submit({ signal: ending }),
        };
      }).then(
        async ({ outcome, txHash }) => {
          await applyOutcome(state, batch, outcome, results);
          return { outcome, txHash, expiresAt, parts: signed ?? [] };
        },
        (reason: unknown) => {
          if (signed !== undefined && !(reason instanceof OutcomeUnknownError)) {
            forgetUnsent(state, batch, signed);
          }
          throw reason;
        },
      );
      const ended = executed.then(ignore, ignore);
      running.add(ended);
      void ended.then(() => running.delete(ended));
      return { executed, isSigned: Promise.race([whenSigned, ended]) };
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
