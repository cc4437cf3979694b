import type { BatchMarketInstructions } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { CallOptions } from "../../base/input/call-options.js";
import { raceAbort } from "../../base/signal/abort.js";
import type { CommandPart, Outcome } from "../live/transaction-outcome.js";
import type { LeaseSettings } from "./lease-options.js";
import { applyOutcome, forgetUnsent, noteSigned, type ResultServices } from "./lease-results.js";
import type { LeaseState } from "./lease-state.js";
import { after, batchInstructions, type LeaseBatch } from "./renewal-plan.js";
import { type SendingServices, sendBatch } from "./send-batch.js";

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
  /** Sends a batch. */
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

/** Creates the sender of leases. */
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
        onUnsent: () => forgetUnsent(state, signed),
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
