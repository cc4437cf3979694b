import { TradewireError } from "../errors/index.js";
import type { Ending } from "./await-result.js";
import { commandParts, type Outcome, outcomeOfResult, partOutcome } from "./outcome.js";
import { differenceOf, otherOwner, type Sent } from "./sent.js";
import { type StopOrderState, stopOrderState } from "./stop-order-state.js";
import { lookForTraces, readLastBlock, readStopOrder, type TraceServices, type Traces } from "./traces.js";

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
 * @param blockMs the average time of the network's blocks, in milliseconds; `undefined` where that is not known
 * @returns the outcome
 */
export async function conclude(
  services: TraceServices,
  sent: Sent,
  ending: Ending,
  doubt: string | undefined,
  blockMs?: number,
): Promise<Outcome> {
  const unknown = (reason: string) => withoutResult(services, sent, reason);
  switch (ending.kind) {
    case "seen":
      return concludeResult(services, sent, ending);
    case "too old": {
      const reason = `no block up to ${ending.block} has it, and later ones cannot take it any more`;
      const { similar } = ending;
      const other = similar && `block results have an equal command of the same party under the hash ${similar}`;
      const silent = sent.command === UNREPORTED ? "the network reports no result for commands of its kind" : undefined;
      const doubts = [doubt, silent, other, tooFast(ending, blockMs)].filter((text) => text !== undefined);
      if (doubts.length > 0) {
        return unknown([reason, ...doubts].join("; "));
      }
      const otherHeight = await differentHeight(services, ending.block);
      if (otherHeight !== undefined) {
        return unknown(`by the events, ${reason}; ${otherHeight}`);
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

/** How many blocks the node's last block may be behind the events, which another node may have sent. */
const BLOCKS_BEHIND = 3n;

/** How many times faster than on average blocks may end before the events of their ends are not believed. */
const FASTER_BLOCKS = 20;

/** Says that the ends of blocks came faster than a network makes blocks; `undefined` if they did not. */
function tooFast(
  { blocks, tookMs }: Extract<Ending, { readonly kind: "too old" }>,
  blockMs: number | undefined,
): string | undefined {
  return blockMs !== undefined && tookMs * FASTER_BLOCKS < blocks * blockMs
    ? `${blocks} blocks ended within ${Math.ceil(tookMs)} ms, but the network takes ${Math.round(blockMs)} ms for one on average, so the events are not believed`
    : undefined;
}

/** Says that the node's last block is not that of the events, or could not be read; `undefined` where it is. */
async function differentHeight(services: TraceServices, block: bigint): Promise<string | undefined> {
  const last = await readLastBlock(services);
  if (typeof last === "string") {
    return `the node's last block ${last}`;
  }
  return last + BLOCKS_BEHIND < block ? `but the node's last block is ${last}` : undefined;
}

/** The outcome by the network's result, which is checked to be of this transaction. */
async function concludeResult(
  services: TraceServices,
  sent: Sent,
  { result, block, stopOrders }: Extract<Ending, { readonly kind: "seen" }>,
): Promise<Outcome> {
  const unknown = (reason: string) => withoutResult(services, sent, reason);
  const hash = result.hash.toUpperCase();
  const which = sent.isHashOfNode === true ? `the node knows it by the hash ${hash}, whose result in` : "its result in";
  const difference = differenceOf(sent, result);
  if (difference !== undefined) {
    return unknown(`${which} block ${block} ${difference}`);
  }
  if (sent.blockHeight !== undefined && block <= sent.blockHeight) {
    return unknown(
      `${which} block ${block} cannot be true, as it is tied to block ${sent.blockHeight}: only later blocks can have it`,
    );
  }
  const sentParts = sent.message === undefined ? commandParts(result.transaction, sent.signature) : sent.parts;
  const outcome = outcomeOfResult(result, block, hash, sentParts);
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
      const event = stopOrders.get(part.id)?.stopOrder;
      const sentPart = sentParts.find(({ id }) => id === part.id) ?? {};
      const other = event && otherOwner(sent, sentPart, event);
      return other === undefined
        ? (stopOrderState(event) ?? readStopOrder(services, sent, part.id, sentPart))
        : { kind: "unread", why: `the event of stop order ${part.id} ${other}` };
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
