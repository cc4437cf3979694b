import { TradewireError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import type { Ending } from "./await-result.js";
import { type Outcome, outcomeOfResult } from "./outcome.js";
import { nextIdOf, type Sent } from "./sent.js";
import { lookForTraces, type TraceServices } from "./traces.js";

/** The kinds of commands of which an order, or a stop order, proves that they were carried out. */
const PROVED_BY_ORDER: readonly string[] = ["orderSubmission", "stopOrdersSubmission"];

/**
 * Say what became of a transaction whose result did not come.
 *
 * @param services are asked for traces of it
 * @param sent the transaction
 * @param reason why its result did not come
 * @returns what its order proves; else `unknown`, with all that was looked at
 */
export async function withoutResult(services: TraceServices, sent: Sent, reason: string): Promise<Outcome> {
  const { txHash, publicKey, blockHeight, parts } = sent;
  const { lookedAt, proof } = await lookForTraces(services, { orderId: nextIdOf(sent)(), publicKey, blockHeight });
  // An order of a batch proves nothing of its other parts.
  if (proof === undefined || !PROVED_BY_ORDER.includes(sent.command ?? "")) {
    return { status: "unknown", txHash, reason, lookedAt: [{ place: "events", found: reason }, ...lookedAt] };
  }
  return proof.status === "executed"
    ? { ...proof, txHash, block: undefined, parts: parts.map((part) => ({ ...part, ...proof, reason: undefined })) }
    : { ...proof, txHash, block: undefined, parts: parts.map((part) => ({ ...part, ...proof })) };
}

/**
 * Say what became of a transaction.
 *
 * @param services are asked for traces of it
 * @param sent the transaction
 * @param ending how the wait for its result ended
 * @param doubt why a block may have it although no result with its hash came; `undefined` where none may
 * @returns the outcome
 */
export function conclude(
  services: TraceServices,
  sent: Sent,
  ending: Ending,
  doubt: string | undefined,
): Outcome | Promise<Outcome> {
  const { txHash } = sent;
  switch (ending.kind) {
    case "seen": {
      const { result, block } = ending;
      if (sent.publicKey !== undefined && result.partyId.toLowerCase() !== sent.publicKey.toLowerCase()) {
        return withoutResult(
          services,
          sent,
          `its result in block ${block} names another party, ${quoted(result.partyId)}`,
        );
      }
      const known = outcomeOfResult(result, block, txHash, nextIdOf(sent));
      return (
        known ??
        withoutResult(services, sent, `the status of its result in block ${block} is not known, or contradicts itself`)
      );
    }
    case "too old": {
      const reason = `no block up to ${ending.block} has taken it, and it is too old for those that follow`;
      if (doubt !== undefined) {
        return withoutResult(services, sent, `${reason}; ${doubt}`);
      }
      const parts = sent.parts.map((part) => ({ ...part, status: "failed" as const, reason }));
      return { status: "failed", txHash, block: undefined, reason, parts };
    }
    case "missed": {
      const blocks = ending.from === undefined ? `up to ${ending.to}` : `${ending.from} to ${ending.to}`;
      return withoutResult(
        services,
        sent,
        `results of blocks ${blocks} may not have come, and those that came do not have it`,
      );
    }
    case "failed":
      return withoutResult(services, sent, `the events cannot be followed: ${summaryOf(ending.error)}`);
    case "time up":
      return withoutResult(services, sent, "its result did not come in the time that was given");
  }
}

function summaryOf(error: unknown): string {
  return error instanceof TradewireError ? error.summary : String(error);
}
