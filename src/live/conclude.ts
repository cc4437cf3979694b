import { TradewireError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import type { Ending } from "./await-result.js";
import { type Outcome, outcomeOfResult, partOutcome } from "./outcome.js";
import { isOfSameCommand, type Sent } from "./sent.js";
import { type StopOrderState, stopOrderState } from "./stop-order-state.js";
import { lookForTraces, readStopOrder, type TraceServices, type Traces } from "./traces.js";

/**
 * Says what became of a transaction whose result did not come.
 *
 * @param services are asked for traces of it
 * @param sent the transaction
 * @param reason why its result did not come
 * @returns what the records of what it brought prove; else `unknown`, with all that was looked at
 */
export async function withoutResult(services: TraceServices, sent: Sent, reason: string): Promise<Outcome> {
  return outcomeOfTraces(await lookForTraces(services, sent), sent, reason);
}

/**
 * Says what traces of a transaction tell of it.
 *
 * @param traces what was found
 * @param sent the transaction
 * @param reason why its result did not come
 * @returns what they prove; else `unknown`, with all that was looked at
 */
export function outcomeOfTraces({ lookedAt, proof, doubt }: Traces, sent: Sent, reason: string): Outcome {
  return (
    proof ?? {
      status: "unknown",
      txHash: sent.txHash,
      reason: doubt === undefined ? reason : `${reason}; ${doubt}`,
      lookedAt: [{ place: "events", found: reason }, ...lookedAt],
    }
  );
}

/** Why a result did not come where the time for it was up. */
export const LATE = "its result did not come in the time allowed";

/** The kind of command that a v0.78.0 network executes without a result. */
const UNREPORTED = "delayedTransactionsWrapper";

/**
 * Says what became of a transaction.
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
  const unknown = (reason: string) => withoutResult(services, sent, reason);
  switch (ending.kind) {
    case "seen":
      return concludeResult(services, sent, ending);
    case "too old": {
      const reason = `no block up to ${ending.block} has it, and later ones cannot take it any more`;
      const { similar } = ending;
      const other = similar && `block results have an equal command of the same party under the hash ${similar}`;
      const silent = sent.command === UNREPORTED ? "the network reports no result for commands of its kind" : undefined;
      const doubts = [doubt, silent, other].filter((text) => text !== undefined);
      if (doubts.length > 0) {
        return unknown([reason, ...doubts].join("; "));
      }
      const parts = sent.parts.map((part) => partOutcome(part, reason));
      return { status: "failed", txHash: sent.txHash, block: undefined, evidence: "blocks", reason, parts };
    }
    case "missed": {
      const blocks = ending.from === undefined ? `up to ${ending.to}` : `${ending.from} to ${ending.to}`;
      return unknown(
        `the results of blocks ${blocks} may not have arrived, and none of those that arrived is of this transaction`,
      );
    }
    case "proved":
      return ending.outcome;
    case "failed":
      return unknown(`the events cannot be followed: ${summaryOf(ending.error)}`);
    case "time up":
      return unknown(LATE);
  }
}

/** The outcome by the network's result, which is checked to be of this transaction. */
async function concludeResult(
  services: TraceServices,
  sent: Sent,
  { result, block, stopOrders }: Extract<Ending, { readonly kind: "seen" }>,
): Promise<Outcome> {
  const unknown = (reason: string) => withoutResult(services, sent, reason);
  if (sent.publicKey !== undefined && result.partyId.toLowerCase() !== sent.publicKey) {
    return unknown(`its result in block ${block} names another party, ${quoted(result.partyId)}`);
  }
  const hash = result.hash.toUpperCase();
  if (sent.isHashOfNode === true && !isOfSameCommand(sent, result)) {
    return unknown(`the node knows it by the hash ${hash}, whose result in block ${block} is of another command`);
  }
  const outcome = outcomeOfResult(result, block, hash, sent.signature);
  if (outcome === undefined) {
    return unknown(`the status of its result in block ${block} is not known, or contradicts itself`);
  }
  if (outcome.status === "failed") {
    return outcome;
  }
  // The network's result does not say that a stop order was rejected.
  const states = await Promise.all(
    outcome.parts.map(async (part): Promise<StopOrderState | undefined> => {
      if (part.brings !== "stop order" || part.status === "failed" || part.id === undefined) {
        return undefined;
      }
      return stopOrderState(stopOrders.get(part.id)?.stopOrder) ?? readStopOrder(services, part.id);
    }),
  );
  const unread = states.find((state) => state?.kind === "unread");
  if (unread !== undefined) {
    return unknown(`block ${block} executed it, but whether its stop orders were accepted is not known: ${unread.why}`);
  }
  const parts = outcome.parts.map((part, index) => {
    const state = states[index];
    return state?.kind === "rejected" ? partOutcome(part, state.reason) : part;
  });
  const rejected = parts.filter((part, index) => part !== outcome.parts[index]);
  if (rejected.length === 0) {
    return outcome;
  }
  const reason = [...new Set(rejected.map((part) => part.reason ?? ""))].join(", ");
  const isAll = parts.every(({ status }) => status === "failed");
  return { ...outcome, status: isAll ? "failed" : "partial", reason, parts };
}

function summaryOf(error: unknown): string {
  return error instanceof TradewireError ? error.summary : String(error);
}
