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
 * @returns the outcome
 */
export async function conclude(
  services: TraceServices,
  sent: Sent,
  ending: Ending,
  doubt: string | undefined,
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
      const doubts = [doubt, silent, other, clockDoubt(ending)].filter((text) => text !== undefined);
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

/** How many times faster than this machine's clock the clock of blocks may run: a node that was behind catches up. */
const FASTER_CLOCK = 2;
/** How far the clock of blocks may run ahead in any case, in milliseconds. */
const CLOCK_GRACE_MS = 1000;

/**
 * Says why the ends of blocks cannot be real by the blocks' own times; `undefined` if they can. How fast they came proves
 * nothing by itself: a network may make blocks quickly, or when it is told to. But then the blocks have times to match.
 */
function clockDoubt({ times, tookMs }: Extract<Ending, { readonly kind: "too old" }>): string | undefined {
  const known = times.filter((time) => time !== undefined);
  if (known.length < times.length) {
    return `the times of ${times.length - known.length} of these blocks did not come, so the events of their ends are not believed`;
  }
  const steps = known.slice(1).map((time, index) => Number(time - (known[index] ?? time)) / 1e6);
  if (steps.some((step) => step <= 0)) {
    return "the times of these blocks do not increase, so the events of their ends are not believed";
  }
  // Of each block the time of the middle one: after a halt, or where the clock of a local node was set, one takes long.
  const [middle = 0] = steps.toSorted((one, other) => one - other).slice(Math.floor(steps.length / 2));
  const claimedMs = middle * steps.length;
  return claimedMs > tookMs * FASTER_CLOCK + CLOCK_GRACE_MS
    ? `${times.length} blocks that took ${Math.round(claimedMs)} ms by their own times ended within ${Math.ceil(tookMs)} ms, so the events of their ends are not believed`
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
