import type { DescService } from "@bufbuild/protobuf";
import type { Transaction } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { CanceledError, OutcomeUnknownError, TradewireError, TransactionError } from "../../base/errors/index.js";
import { createEventReporter } from "../../base/errors/observer.js";
import { type CallOptions, toConnectOptions } from "../../base/input/call-options.js";
import { MAX_TIMER_MS, monotonicMs } from "../../base/runtime/index.js";
import type { ServiceClient } from "../../wire/transport/service-client.js";
import { withTimeout } from "../transaction/deadline.js";
import { type Submission, unknownOutcome } from "../transaction/submission.js";
import { TIMEOUT_MS } from "../transaction/transactions.js";
import type { BlockWatch } from "./block-watch.js";
import { CoreService, TradingDataService } from "./event-definitions.js";
import { awaitResult, type Ending } from "./result-wait.js";
import { resultMismatch, type Sent, sentTransaction } from "./sent-transaction.js";
import { commandParts, type Outcome, outcomeOfResult, partOutcome } from "./transaction-outcome.js";
import { type StopOrderState, stopOrderState } from "./transaction-records.js";
import {
  findEvidence,
  findListedTraces,
  findTraces,
  hasAllRecords,
  readLastBlock,
  readStopOrder,
  resultWaitMs,
  type TraceServices,
  type Traces,
} from "./transaction-traces.js";

/** How to wait for the outcome of a transaction. */
export interface ExecuteOptions extends CallOptions {
  /** Waits until the network has executed it, or can no longer do so. */
  readonly until: "executed";
  /**
   * Total time limit, in milliseconds; after that the outcome is unknown. By default, as long as the
   * network can accept the transaction (see {@link OutcomeWait}), plus two minutes to create and send it.
   */
  readonly timeoutMs?: number | undefined;
  /** Called once, before the transaction is sent. If it throws, the error becomes a warning and has no other effect. */
  readonly onWait?: ((wait: OutcomeWait) => void) | undefined;
}

/** A wait for an outcome that is about to begin. */
export interface OutcomeWait {
  /** The hash of the transaction that is about to be sent: 64 hex digits in upper case. */
  readonly txHash: string;
  /** The maximum time of the wait, in milliseconds. */
  readonly limitMs: number;
  /** The last block in which the network accepts the transaction, plus some blocks of grace; `undefined` if unknown. */
  readonly lastBlock: bigint | undefined;
}

/** A transaction that was sent, and its outcome. */
export interface ExecutedCommand extends Pick<Submission, "computedTxHash"> {
  /** The hash by which the node knows it: 64 hex digits in upper case. */
  readonly txHash: string;
  readonly transaction: Transaction;
  readonly outcome: Outcome;
}

/** A node on which outcomes are observed. */
export interface ObservedNode {
  readonly watch: BlockWatch;
  /** Creates a client of a service, whose methods throw the library's errors. */
  readonly service: <S extends DescService>(service: S) => ServiceClient<S>;
}

/** A transaction that is ready to be sent. */
export interface ReadyTransaction {
  readonly transaction: Transaction;
  /** The number of past blocks that transactions may be tied to; 0 if unknown. */
  readonly pastBlocks: number;
  /** The maximum number of blocks from now on in which the network may accept it. */
  readonly validForBlocks: number;
  /** Whether it is new, so that no block contains it yet. */
  readonly isNew: boolean;
  /** Whether the node checks it before it responds, and so refuses one that it has already seen. */
  readonly isChecked: boolean;
  /** Sends it. */
  readonly submit: (signal: AbortSignal, decided: AbortSignal) => Promise<Submission>;
  /** Sends it again after results may be missing and it has no records: a node that was restarted has forgotten it. */
  readonly resend?: (signal: AbortSignal) => Promise<unknown>;
}

/** Blocks beyond those that the network counts: it may execute a transaction one block later, and events may come late. */
const BLOCKS_OF_GRACE = 3n;

/** By how much blocks may be slower than they were on average before a wait without its own limit ends. */
const SLOWER_BLOCKS = 2;

/** The minimum limit of a wait, in milliseconds. */
const MIN_WAIT_MS = 30_000;

/** The assumed block interval if the node does not report one, in milliseconds. */
const DEFAULT_BLOCK_MS = 1000;

/**
 * Sends a transaction once, and waits for its outcome. Observation of events starts before it is sent.
 *
 * @throws the errors of `prepare` and of the submission, except an {@link OutcomeUnknownError} of the submission: in
 *   that case, the outcome is awaited
 */
export async function execute(
  node: ObservedNode,
  options: Omit<ExecuteOptions, "until">,
  prepare: (signal: AbortSignal) => Promise<ReadyTransaction>,
): Promise<ExecutedCommand> {
  const { timeoutMs, signal: callers, onWait } = options;
  const startedAt = monotonicMs();
  const makingMs = timeoutMs ?? TIMEOUT_MS;
  const { ready, blockMs } = await withTimeout(makingMs, callers, async (signal) => {
    await node.watch.ready(signal); // Sends nothing before the stream is open, so that no result is missed.
    const [ready, blockMs] = await Promise.all([prepare(signal), averageBlockMs(node, options, signal)]);
    return { ready, blockMs };
  });
  const sent = sentTransaction(ready.transaction);
  const lastBlock =
    ready.pastBlocks === 0 || !sent.blockHeight
      ? undefined
      : sent.blockHeight + BigInt(ready.pastBlocks) + BLOCKS_OF_GRACE;
  const aliveMs = Math.ceil((ready.validForBlocks + Number(BLOCKS_OF_GRACE)) * blockMs * SLOWER_BLOCKS);
  const limitMs =
    timeoutMs === undefined
      ? Math.min(Math.max(aliveMs, MIN_WAIT_MS), MAX_TIMER_MS)
      : Math.max(1, Math.floor(timeoutMs - (monotonicMs() - startedAt)));
  createEventReporter(onWait, "the submission")({ txHash: sent.txHash, limitMs, lastBlock });
  return withTimeout(limitMs, callers, (deadline) => {
    const services = servicesOf(node, options, deadline);
    return withTimeout(resultWaitMs(limitMs), deadline, (signal) =>
      sendAndWait({ node, services, sent, ready, lastBlock }, signal, callers),
    );
  });
}

/** A transaction that is sent, and how it is observed. */
interface Execution {
  readonly node: ObservedNode;
  readonly services: TraceServices;
  readonly sent: Sent;
  readonly ready: ReadyTransaction;
  readonly lastBlock: bigint | undefined;
}

async function sendAndWait(
  { node, services, sent, ready, lastBlock }: Execution,
  signal: AbortSignal,
  callers: AbortSignal | undefined,
): Promise<ExecutedCommand> {
  const { transaction, isNew, isChecked, submit } = ready;
  const decided = new AbortController();
  let isSubmitted = false; // And not refused.
  const wait = awaitResult(node.watch, sent, {
    signal,
    lastBlock,
    // What happened while the events were lost cannot be replayed: its records show it.
    async lookUp() {
      const traces = await findTraces(services, sent);
      if (isSubmitted && traces.proof === undefined && !traces.isExecuted) {
        void ready.resend?.(signal).catch(() => undefined);
      }
      return traces;
    },
    onDecided: () => decided.abort(),
  });
  void wait.ended.then(() => decided.abort());
  let doubt = isNew ? undefined : "an earlier block may have it";
  let known = sent;
  try {
    try {
      const answer = await submit(signal, decided.signal);
      doubt = isChecked ? undefined : doubt; // The node has not seen it before.
      const txHash = answer.txHash.toUpperCase();
      if (/^[0-9A-F]{64}$/.test(txHash) && txHash !== sent.txHash) {
        known = { ...sent, txHash, isHashOfNode: true };
        doubt = `the node reports the hash ${txHash}, but this client computed ${sent.txHash}`;
      }
    } catch (reason) {
      if (saysTaken(reason)) {
        const { proof } = await findTraces(services, sent);
        if (proof !== undefined) {
          return { txHash: sent.txHash, computedTxHash: sent.txHash, transaction, outcome: proof };
        }
        wait.lookUp(); // The data node may lag, and the result may have come before the wait.
      }
      if (!(reason instanceof OutcomeUnknownError) || callers?.aborted === true) {
        throw reason;
      }
    }
    isSubmitted = true;
    wait.submitted(known.txHash);
    const ending = await wait.ended;
    if (ending.kind !== "seen" && callers?.aborted === true) {
      throw await unknownOutcome(transaction, new CanceledError({ cause: callers.reason }));
    }
    const outcome = await outcomeOfEnding({ services, sent: known, patience: signal }, ending, doubt);
    return { txHash: known.txHash, computedTxHash: sent.txHash, transaction, outcome };
  } finally {
    wait.close();
  }
}

/** Returns whether a node refused a transaction because it may have an earlier submission of it. */
function saysTaken(reason: unknown): boolean {
  return reason instanceof OutcomeUnknownError
    ? reason.isKnownToNode || reason.cause instanceof TransactionError
    : reason instanceof TransactionError && reason.mayHaveBeenTaken;
}

/**
 * Finds the outcome of a transaction that was sent earlier: by its records, or otherwise by its result if that has not
 * arrived yet.
 *
 * @throws {@link CanceledError} if the caller's signal was aborted
 */
export async function findOutcome(
  node: ObservedNode,
  sent: Sent,
  timeoutMs: number,
  options: CallOptions,
): Promise<Outcome> {
  return withTimeout(timeoutMs, options.signal, (deadline) => {
    const services = servicesOf(node, options, deadline);
    return withTimeout(resultWaitMs(timeoutMs), deadline, (signal) =>
      searchAndWait(node, services, sent, signal, options.signal),
    );
  });
}

/**
 * Finds the outcome of a transaction by its records alone: they are complete, and its result does not come any more.
 *
 * @returns the outcome, and whether later looks cannot show more
 */
export async function findRecordedOutcome(
  node: ObservedNode,
  sent: Sent,
  timeoutMs: number,
  options: CallOptions,
): Promise<{ readonly outcome: Outcome; readonly isFinal: boolean }> {
  return withTimeout(timeoutMs, options.signal, async (deadline) => {
    const traces = await findEvidence(servicesOf(node, options, deadline), sent, deadline);
    if (traces === "absent") {
      return { outcome: absentOutcome(sent), isFinal: true };
    }
    const { doubt = "no record shows it" } = traces;
    const outcome = outcomeOfTraces({ ...traces, doubt: undefined }, sent, doubt);
    return { outcome, isFinal: !traces.isUnread && !deadline.aborted };
  });
}

/** Returns whether records that are read from now on are those of all blocks up to one. */
export function areRecordsComplete(
  node: ObservedNode,
  last: bigint,
  options: CallOptions & { readonly signal: AbortSignal },
): Promise<boolean> {
  return hasAllRecords(servicesOf(node, options, options.signal), last).catch(() => false);
}

async function searchAndWait(
  node: ObservedNode,
  services: TraceServices,
  sent: Sent,
  signal: AbortSignal,
  callers: AbortSignal | undefined,
): Promise<Outcome> {
  const wait = awaitResult(node.watch, sent, { signal });
  try {
    const traces = await findEvidence(services, sent);
    if (traces === "absent") {
      return absentOutcome(sent);
    }
    const isLate = services.deadline?.aborted === true; // There is no time to look again.
    // With records of its own it was executed, and its result, unless it has come meanwhile, will not come any more.
    const ending =
      traces.isExecuted || isLate ? await Promise.race([wait.ended, Promise.resolve(undefined)]) : undefined;
    const isOver = traces.proof !== undefined || (traces.isExecuted && ending === undefined);
    const isUp = isLate && ending?.kind !== "seen";
    const outcome =
      isOver || isUp
        ? outcomeOfTraces(traces, sent, isOver ? "its result is sent only once" : TIMED_OUT)
        : await outcomeOfEnding(
            { services: { ...services, earlier: traces.lookedAt }, sent, patience: signal },
            ending ?? (await wait.ended),
            "an earlier block may have it",
          );
    if (callers?.aborted === true && outcome.status === "unknown") {
      throw new CanceledError({ cause: callers.reason });
    }
    return outcome;
  } finally {
    wait.close();
  }
}

function servicesOf({ service, watch }: ObservedNode, { headers }: CallOptions, deadline: AbortSignal): TraceServices {
  const { blockAt } = watch;
  return { core: service(CoreService), data: service(TradingDataService), blockAt, headers, deadline };
}

/** The average time between two blocks since the chain began, in milliseconds. */
async function averageBlockMs(
  { service }: ObservedNode,
  { headers }: CallOptions,
  signal: AbortSignal,
): Promise<number> {
  const answer = await service(CoreService)
    .statistics({}, toConnectOptions({ signal, headers }))
    .catch(() => undefined); // It serves for an estimate only.
  const { genesisTime = "", vegaTime = "", blockHeight = 0n } = answer?.statistics ?? {};
  const averageMs = (Date.parse(vegaTime) - Date.parse(genesisTime)) / Number(blockHeight);
  return averageMs > 0 && averageMs < 60_000 ? averageMs : DEFAULT_BLOCK_MS;
}

/** A transaction whose outcome is determined. */
interface Determination {
  /** The services to ask for traces of it. */
  readonly services: TraceServices;
  readonly sent: Sent;
  /** Ends the wait for blocks after which the absence of records is evidence. */
  readonly patience: AbortSignal;
}

/** Determines the outcome of a transaction whose result did not arrive. */
async function outcomeByTraces(
  { services, sent, patience }: Determination,
  reason: string,
  mayBeAbsent: boolean,
  seenIn?: bigint,
): Promise<Outcome> {
  const traces = await (mayBeAbsent
    ? findEvidence(services, sent, patience, seenIn)
    : findListedTraces(services, sent));
  return traces === "absent" ? absentOutcome(sent, seenIn) : outcomeOfTraces(traces, sent, reason);
}

/** The outcome of a transaction that is proven to have left no record. The network gives no reason. */
function absentOutcome({ txHash, parts }: Sent, block?: bigint): Outcome {
  const has = block === undefined ? "all blocks that could contain it" : `block ${block}, which contains it`;
  const reason = `the data node has ${has}, and no record of it`;
  const failed = parts.map((part) => partOutcome(part, reason));
  return { status: "failed", txHash, block, evidence: "absence", reason, parts: failed };
}

function outcomeOfTraces({ lookedAt, proof, doubt }: Traces, sent: Sent, reason: string): Outcome {
  return (
    proof ?? {
      status: "unknown",
      txHash: sent.txHash,
      reason: doubt === undefined ? reason : `${reason}; ${doubt}`,
      lookedAt: [{ place: "events", found: reason }, ...lookedAt],
    }
  );
}

/** Why a result did not arrive, if the time limit passed. */
const TIMED_OUT = "its result did not arrive in time";

/** The kind of command that a v0.78.0 network executes without a result. */
const COMMAND_WITHOUT_RESULT = "delayedTransactionsWrapper";

async function outcomeOfEnding(
  determination: Determination,
  ending: Ending,
  doubt: string | undefined,
): Promise<Outcome> {
  const { services, sent } = determination;
  const unknown = (reason: string, mayBeAbsent = true) => outcomeByTraces(determination, reason, mayBeAbsent);
  switch (ending.kind) {
    case "seen":
      return outcomeOfSeenResult(determination, ending);
    case "too old": {
      const reason = `no block up to ${ending.block} contains it, and later blocks cannot`;
      const { similar } = ending;
      const other = similar && `block results have an equal command of the same party under the hash ${similar}`;
      const silent =
        sent.command === COMMAND_WITHOUT_RESULT ? "the network reports no result for commands of its kind" : undefined;
      const doubts = [doubt, silent, other, clockDoubt(ending)].filter((text) => text !== undefined);
      if (doubts.length > 0) {
        return unknown([reason, ...doubts].join("; "), similar === undefined);
      }
      const otherHeight = await differentHeight(services, ending.block);
      if (otherHeight !== undefined) {
        return unknown(`according to the events, ${reason}; ${otherHeight}`);
      }
      const parts = sent.parts.map((part) => partOutcome(part, reason));
      return { status: "failed", txHash: sent.txHash, block: undefined, evidence: "blocks", reason, parts };
    }
    case "missed": {
      const blocks = ending.from === undefined ? `up to ${ending.to}` : `${ending.from} to ${ending.to}`;
      return unknown(
        `the results of blocks ${blocks} may be missing, and none that arrived belongs to this transaction`,
      );
    }
    case "proved":
      return ending.outcome;
    case "failed":
      return unknown(`the event stream failed: ${summaryOf(ending.error)}`);
    case "time up":
      return unknown(TIMED_OUT);
  }
}

/** How many blocks the node's last block may lag the events, which another node may have sent. */
const BLOCKS_BEHIND = 3n;

/** How many times faster than this machine's clock the clock of blocks may run: a node that was behind catches up. */
const FASTER_CLOCK = 2;
/** How far the clock of blocks may run ahead in any case, in milliseconds. */
const CLOCK_GRACE_MS = 1000;

/**
 * Returns why the ends of blocks cannot be real according to the blocks' own times; `undefined` if they can. Their rate alone
 * proves nothing: a network may make blocks quickly, or on command. But then the block times match.
 */
function clockDoubt({ times, tookMs }: Extract<Ending, { readonly kind: "too old" }>): string | undefined {
  const known = times.filter((time) => time !== undefined);
  if (known.length < times.length) {
    return `the times of ${times.length - known.length} of these blocks are missing, so their end events are not trusted`;
  }
  const steps = known.slice(1).map((time, index) => Number(time - (known[index] ?? time)) / 1e6);
  if (steps.some((step) => step <= 0)) {
    return "the times of these blocks do not increase, so their end events are not trusted";
  }
  // Of each block the time of the middle one: after a halt, or where the clock of a local node was set, one takes long.
  const [middle = 0] = steps.toSorted((one, other) => one - other).slice(Math.floor(steps.length / 2));
  const claimedMs = middle * steps.length;
  return claimedMs > tookMs * FASTER_CLOCK + CLOCK_GRACE_MS
    ? `${times.length} blocks that took ${Math.round(claimedMs)} ms by their own times ended within ${Math.ceil(tookMs)} ms, so their end events are not trusted`
    : undefined;
}

/** Returns how the node's last block differs from that of the events; `undefined` if it does not. */
async function differentHeight(services: TraceServices, block: bigint): Promise<string | undefined> {
  const last = await readLastBlock(services);
  if (typeof last === "string") {
    return `the node's last block ${last}`;
  }
  return last + BLOCKS_BEHIND < block ? `but the node's last block is ${last}` : undefined;
}

/** The outcome by the network's result, which is checked to be of this transaction. */
async function outcomeOfSeenResult(
  determination: Determination,
  { result, block, stopOrders }: Extract<Ending, { readonly kind: "seen" }>,
): Promise<Outcome> {
  const { services, sent } = determination;
  const unknown = (reason: string) => outcomeByTraces(determination, reason, false);
  const hash = result.hash.toUpperCase();
  const which = sent.isHashOfNode === true ? `the node reports the hash ${hash}, whose result in` : "its result in";
  const difference = resultMismatch(sent, result);
  if (difference !== undefined) {
    return unknown(`${which} block ${block} ${difference}`);
  }
  if (sent.blockHeight !== undefined && block <= sent.blockHeight) {
    return unknown(
      `${which} block ${block} is impossible: the transaction is tied to block ${sent.blockHeight}, and only later blocks can contain it`,
    );
  }
  const sentParts = sent.message === undefined ? commandParts(result.transaction, sent.signature) : sent.parts;
  const outcome = outcomeOfResult(result, block, hash, sentParts);
  if (outcome === undefined) {
    return unknown(`the status of its result in block ${block} is unknown or contradictory`);
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
      const sentPart = { ...sentParts.find(({ id }) => id === part.id), id: part.id };
      return stopOrderState(sent, sentPart, stopOrders.get(part.id)) ?? readStopOrder(services, sent, sentPart);
    }),
  );
  const other = states.find((state) => state?.kind === "other");
  const unread = other ?? states.find((state) => state?.kind === "unread");
  if (unread !== undefined) {
    const why = `block ${block} executed it, but it is unknown whether its stop orders were accepted: ${unread.why}`;
    // The network reports that a stop order on an unknown market was executed, and does nothing (v0.78.0,
    // `DeliverStopOrdersSubmission` in core/processor/abci.go).
    return outcomeByTraces({ ...determination, sent: { ...sent, parts: sentParts } }, why, other === undefined, block);
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
  const isAll = parts.length === sentParts.length && parts.every(({ status }) => status === "failed");
  return { ...outcome, status: isAll ? "failed" : "partial", reason, parts };
}

function summaryOf(error: unknown): string {
  return error instanceof TradewireError ? error.summary : String(error);
}
