import type { DescService } from "@bufbuild/protobuf";
import type { Client as ConnectClient } from "@connectrpc/connect";
import type { Transaction } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import { CanceledError, OutcomeUnknownError, TransactionError } from "../errors/index.js";
import { observer } from "../errors/observer.js";
import { type CallOptions, connectOptions } from "../given/call-options.js";
import { MAX_TIMER_MS, monotonicMs } from "../runtime/index.js";
import { within } from "../transaction/deadline.js";
import { type Submission, unknownOutcome } from "../transaction/submission.js";
import { TIMEOUT_MS } from "../transaction/transactions.js";
import { awaitResult } from "./await-result.js";
import type { BlockWatch } from "./block-watch.js";
import { conclude, LATE, outcomeOfTraces } from "./conclude.js";
import { CoreService, TradingDataService } from "./definitions.js";
import type { Outcome } from "./outcome.js";
import { type Sent, sentTransaction } from "./sent.js";
import { lookForTraces, type TraceServices, waitTime } from "./traces.js";

export { readSent } from "./sent.js";

/** How to wait for the outcome of a transaction. */
export interface ExecuteOptions extends CallOptions {
  /** Waits until the network has executed it, or can no longer do so. */
  readonly until: "executed";
  /**
   * The maximum time for all of it, in milliseconds; after that the outcome is unknown. By default, as long as the network
   * can still take the transaction (see {@link OutcomeWait}), and two minutes before that to make and send it.
   */
  readonly timeoutMs?: number | undefined;
  /** Called once, before the transaction is sent. What it throws is reported as a warning and changes nothing. */
  readonly onWait?: ((wait: OutcomeWait) => void) | undefined;
}

/** A wait for an outcome that is about to begin. */
export interface OutcomeWait {
  /** The hash of the transaction that is sent next: 64 hex digits in upper case. */
  readonly txHash: string;
  /** The maximum time of the wait, in milliseconds. */
  readonly limitMs: number;
  /** The last block in which the network takes the transaction, and some blocks of grace; `undefined` if not known. */
  readonly lastBlock: bigint | undefined;
}

/** A transaction that was sent, and its outcome. */
export interface ExecutedCommand extends Pick<Submission, "computedTxHash"> {
  /** The hash by which the node knows it: 64 hex digits in upper case. */
  readonly txHash: string;
  readonly transaction: Transaction;
  readonly outcome: Outcome;
}

/** A node, as far as outcomes are observed on it. */
export interface ObservedNode {
  readonly watch: BlockWatch;
  /** Makes a client of a service, whose methods throw the library's errors. */
  readonly service: <S extends DescService>(service: S) => ConnectClient<S>;
}

/** A transaction that is ready to be sent. */
export interface ReadyTransaction {
  readonly transaction: Transaction;
  /** How many blocks back the network takes transactions that are tied to one; 0 where it is not known. */
  readonly pastBlocks: number;
  /** Whether it was made just now, so that no block has it yet. */
  readonly isNew: boolean;
  /** Whether the node checks it before it answers: it refuses one that it has seen before. */
  readonly isChecked: boolean;
  /** Sends it, once. */
  readonly submit: (signal: AbortSignal) => Promise<Submission>;
}

/** Blocks beyond those that the network counts: it may execute a transaction one block later, and events may come late. */
const BLOCKS_OF_GRACE = 3n;

/** By how much blocks may be slower than they were on average before a wait without a limit of its own ends. */
const SLOWER_BLOCKS = 2;

/** The minimum limit of a wait, in milliseconds. */
const MIN_WAIT_MS = 30_000;

/** The time of a block where the node does not tell, in milliseconds. */
const DEFAULT_BLOCK_MS = 1000;

/**
 * Sends a transaction once, and waits for its outcome. Events are followed from before it is sent.
 *
 * @param node where it is sent
 * @param options the time for all of it, and a signal
 * @param prepare makes the transaction
 * @returns the transaction and its outcome
 * @throws what `prepare` and the submission throw, but for an {@link OutcomeUnknownError} of the submission: the outcome
 *   is waited for then
 */
export async function execute(
  node: ObservedNode,
  options: Omit<ExecuteOptions, "until">,
  prepare: (signal: AbortSignal) => Promise<ReadyTransaction>,
): Promise<ExecutedCommand> {
  const { timeoutMs, signal: callers, onWait } = options;
  const startedAt = monotonicMs();
  const makingMs = timeoutMs ?? TIMEOUT_MS;
  const { ready, blockMs } = await within(makingMs, callers, async (signal) => {
    await node.watch.ready(signal); // Nothing is sent before the stream tells of what comes.
    const [ready, blockMs] = await Promise.all([prepare(signal), averageBlockMs(node, options, signal)]);
    return { ready, blockMs };
  });
  const sent = sentTransaction(ready.transaction);
  const lastBlock =
    ready.pastBlocks === 0 || !sent.blockHeight
      ? undefined
      : sent.blockHeight + BigInt(ready.pastBlocks) + BLOCKS_OF_GRACE;
  const aliveMs = Math.ceil((ready.pastBlocks + Number(BLOCKS_OF_GRACE)) * blockMs * SLOWER_BLOCKS);
  const limitMs =
    timeoutMs === undefined
      ? Math.min(Math.max(aliveMs, MIN_WAIT_MS), MAX_TIMER_MS)
      : Math.max(1, Math.floor(timeoutMs - (monotonicMs() - startedAt)));
  observer(onWait, "the submission")({ txHash: sent.txHash, limitMs, lastBlock });
  return within(limitMs, callers, (deadline) => {
    const services = servicesOf(node, options, deadline);
    return within(waitTime(limitMs), deadline, (signal) =>
      sendAndWait({ node, services, sent, ready, lastBlock }, signal, callers),
    );
  });
}

/** A transaction that is sent, and how it is observed. */
interface Sending {
  readonly node: ObservedNode;
  readonly services: TraceServices;
  readonly sent: Sent;
  readonly ready: ReadyTransaction;
  readonly lastBlock: bigint | undefined;
}

async function sendAndWait(
  { node, services, sent, ready, lastBlock }: Sending,
  signal: AbortSignal,
  callers: AbortSignal | undefined,
): Promise<ExecutedCommand> {
  const { transaction, isNew, isChecked, submit } = ready;
  const wait = awaitResult(node.watch, sent, {
    signal,
    lastBlock,
    // What happened while the events were lost cannot be replayed: its records show it.
    lookUp: async () => (await lookForTraces(services, sent)).proof,
  });
  let doubt = isNew ? undefined : "an earlier block may have it";
  let known = sent;
  try {
    try {
      const answer = await submit(signal);
      doubt = isChecked ? undefined : doubt; // The node has not seen it before.
      const txHash = answer.txHash.toUpperCase();
      if (/^[0-9A-F]{64}$/.test(txHash) && txHash !== sent.txHash) {
        known = { ...sent, txHash, isHashOfNode: true };
        doubt = `the node knows it by the hash ${txHash}, this client computed ${sent.txHash}`;
      }
    } catch (reason) {
      const earlier = await outcomeOfEarlier(services, sent, reason);
      if (earlier !== undefined) {
        return { txHash: sent.txHash, computedTxHash: sent.txHash, transaction, outcome: earlier };
      }
      if (!(reason instanceof OutcomeUnknownError) || callers?.aborted === true) {
        throw reason;
      }
    }
    wait.submitted(known.txHash);
    const ending = await wait.ended;
    if (ending.kind !== "seen" && callers?.aborted === true) {
      throw await unknownOutcome(transaction, new CanceledError({ cause: callers.reason }));
    }
    const outcome = await conclude(services, known, ending, doubt);
    return { txHash: known.txHash, computedTxHash: sent.txHash, transaction, outcome };
  } finally {
    wait.close();
  }
}

/** The outcome of an earlier submission, where the node says that it has the transaction, and its records tell. */
async function outcomeOfEarlier(
  services: TraceServices,
  sent: Sent,
  reason: unknown,
): Promise<Exclude<Outcome, { readonly status: "unknown" }> | undefined> {
  const isTaken = reason instanceof OutcomeUnknownError && reason.isKnownToNode;
  const mayBeTaken = reason instanceof TransactionError && reason.mayHaveBeenTaken;
  return isTaken || mayBeTaken ? (await lookForTraces(services, sent)).proof : undefined;
}

/**
 * Finds out what became of a transaction that was sent earlier: by its records, or else by its result if that is still to
 * come.
 *
 * @param node where it is looked for
 * @param sent what is known of it
 * @param timeoutMs the time for all of it, in milliseconds
 * @param options the caller's signal and headers
 * @returns the outcome
 * @throws {@link CanceledError} where the caller's signal was aborted
 */
export async function findOutcome(
  node: ObservedNode,
  sent: Sent,
  timeoutMs: number,
  options: CallOptions,
): Promise<Outcome> {
  return within(timeoutMs, options.signal, (deadline) => {
    const services = servicesOf(node, options, deadline);
    return within(waitTime(timeoutMs), deadline, (signal) => lookAndWait(node, services, sent, signal, options.signal));
  });
}

async function lookAndWait(
  node: ObservedNode,
  services: TraceServices,
  sent: Sent,
  signal: AbortSignal,
  callers: AbortSignal | undefined,
): Promise<Outcome> {
  const wait = awaitResult(node.watch, sent, { signal });
  try {
    const traces = await lookForTraces(services, sent);
    const isLate = services.deadline?.aborted === true; // There is no time to look again.
    // With records of its own it was executed, and its result, unless it has come meanwhile, will not come any more.
    const ending =
      traces.isExecuted || isLate ? await Promise.race([wait.ended, Promise.resolve(undefined)]) : undefined;
    const isOver = traces.proof !== undefined || (traces.isExecuted && ending === undefined);
    const isUp = isLate && ending?.kind !== "seen";
    const outcome =
      isOver || isUp
        ? outcomeOfTraces(traces, sent, isOver ? "its result is not sent a second time" : LATE)
        : await conclude(
            { ...services, earlier: traces.lookedAt },
            sent,
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
    .statistics({}, connectOptions({ signal, headers }))
    .catch(() => undefined); // It serves for an estimate only.
  const { genesisTime = "", vegaTime = "", blockHeight = 0n } = answer?.statistics ?? {};
  const averageMs = (Date.parse(vegaTime) - Date.parse(genesisTime)) / Number(blockHeight);
  return averageMs > 0 && averageMs < 60_000 ? averageMs : DEFAULT_BLOCK_MS;
}
