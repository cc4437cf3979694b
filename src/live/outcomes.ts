import type { Transaction } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import { requireKnown, requireObject } from "../errors/check-values.js";
import { CanceledError, OutcomeUnknownError, RequestError, type SubmissionResult } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { CALL_OPTIONS, type CallOptions, checkCallOptions } from "../given/call-options.js";
import { untilAborted } from "../signal/until-aborted.js";
import { within } from "../transaction/deadline.js";
import type { CommandSource } from "../transaction/input-data.js";
import {
  readSubmission,
  type SubmissionType,
  type SubmitOptions,
  type SubmitRequest,
  submissionTypes,
  unknownOutcome,
} from "../transaction/submission.js";
import {
  type CommandPreparation,
  requireSendable,
  type SendCommandOptions,
  type SentCommand,
  SIGN_OPTIONS,
  type SignCommandOptions,
  TIMEOUT_MS,
  type Transactions,
} from "../transaction/transactions.js";
import { awaitResult } from "./await-result.js";
import type { BlockWatch } from "./block-watch.js";
import { conclude, withoutResult } from "./conclude.js";
import type { Outcome } from "./outcome.js";
import { readSent, type Sent, sentTransaction } from "./sent.js";
import type { TraceServices } from "./traces.js";

/** How to wait for what becomes of a transaction. */
export interface ExecuteOptions extends CallOptions {
  /** Waits until it was carried out, or was not. */
  readonly until: "executed";
  /** The longest time for all of it, in milliseconds; 120000 by default. Then the outcome is unknown. */
  readonly timeoutMs?: number | undefined;
}

/** How to make a transaction of a command, submit it, and wait for what becomes of it. */
export interface ExecuteCommandOptions extends SignCommandOptions, ExecuteOptions {
  /** How far it must come before the node answers; `sync` by default. */
  readonly type?: SubmissionType | undefined;
}

/** A transaction that was sent, and what became of it. */
export interface ExecutedCommand {
  /** 64 hex digits in upper case. */
  readonly txHash: string;
  readonly transaction: Transaction;
  readonly outcome: Outcome;
}

/** How long to look for what became of a transaction. */
export interface OutcomeOptions extends CallOptions {
  /** The longest wait for its result, in milliseconds; 30000 by default. */
  readonly timeoutMs?: number | undefined;
}

/** The names of {@link ExecuteOptions}, and those of {@link ExecuteCommandOptions}. */
const EXECUTE_OPTIONS = { ...CALL_OPTIONS, until: true } as const;
const EXECUTE_COMMAND_OPTIONS = { ...SIGN_OPTIONS, ...EXECUTE_OPTIONS, type: true } as const;

/** The operations that send transactions, and those that tell what became of them. */
export interface Outcomes extends Pick<Transactions, "sendCommand" | "submitTransaction"> {
  /**
   * Make a transaction of a command, submit it once, and wait for what becomes of it (specification, 6). The event bus is
   * followed from before it is sent.
   *
   * @param command the command by its name and fields, or serialized input data
   * @param options the signer, the transaction's form, and the time for all of it
   * @returns the outcome: executed, failed, carried out in part, or unknown, with what was looked at
   * @throws what {@link Transactions.sendCommand} throws where it was not sent, or the node refused it;
   *   {@link OutcomeUnknownError} where the signal was aborted after it was sent
   *
   * @example
   * const { outcome } = await client.sendCommand(command, { signer, until: "executed" });
   * if (outcome.status !== "executed") {
   *   console.error(outcome.status, outcome.reason);
   * }
   */
  sendCommand(command: CommandSource, options: ExecuteCommandOptions): Promise<ExecutedCommand>;
  sendCommand(command: CommandSource, options: SendCommandOptions): Promise<SentCommand>;
  /**
   * Submit a signed transaction once, and wait for what becomes of it (specification, 4.2 and 6).
   *
   * @param request the transaction, and how far it must come before the node answers
   * @param options the time for all of it
   * @returns the outcome, as `sendCommand` gives it
   * @throws what {@link Transactions.submitTransaction} throws where it was not sent, or the node refused it;
   *   {@link OutcomeUnknownError} where the signal was aborted after it was sent
   */
  submitTransaction(request: SubmitRequest, options: ExecuteOptions): Promise<ExecutedCommand>;
  submitTransaction(request: SubmitRequest, options?: SubmitOptions): Promise<SubmissionResult>;
  /**
   * Find out what became of a transaction that was sent earlier (specification, 6). Its result is waited for; what
   * happened before cannot be replayed, so its order or stop order is looked for, where its signature is known.
   *
   * @param sent its hash, 64 hex digits; or the error that says that its outcome is unknown, which tells more of it
   * @param options how long to wait
   * @returns the outcome; `unknown`, with what was looked at, where it could not be found out
   * @throws {@link RequestError} where the hash is none; {@link CanceledError} where the signal was aborted
   *
   * @example
   * const { status } = await client.outcome(txHash, { timeoutMs: 10_000 });
   */
  outcome(sent: string | OutcomeUnknownError, options?: OutcomeOptions): Promise<Outcome>;
}

/** Blocks beyond those that the network counts: the node may be behind, and send a block's end before its results. */
const BLOCKS_OF_GRACE = 3n;

/** What may be where a transaction was not made just now. */
const EARLIER = "one before may have";

/** How long the result of a transaction that was sent earlier is waited for, in milliseconds. */
const OUTCOME_TIMEOUT_MS = 30_000;

/**
 * Make the operations that tell what became of transactions.
 *
 * @param transactions makes and sends them
 * @param watch follows the blocks
 * @param services are asked for traces
 * @returns the operations
 */
export function createOutcomes(
  transactions: Transactions & CommandPreparation,
  watch: BlockWatch,
  services: TraceServices,
): Outcomes {
  /** Send a transaction, and wait for what becomes of it. */
  async function execute(
    { sent, transaction, pastBlocks, isNew, isChecked }: ToSend,
    submit: (signal: AbortSignal) => Promise<SubmissionResult>,
    signal: AbortSignal,
    { signal: callers, headers }: CallOptions,
  ): Promise<ExecutedCommand> {
    const { txHash, blockHeight } = sent;
    const lastBlock = pastBlocks === 0 || !blockHeight ? undefined : blockHeight + BigInt(pastBlocks) + BLOCKS_OF_GRACE;
    const wait = awaitResult(watch, txHash, { signal, lastBlock, endsAfterLoss: true });
    let doubt = isNew ? undefined : EARLIER;
    try {
      await submit(signal)
        .then((result) => {
          if (isChecked) {
            doubt = undefined; // The node has not seen it before.
          }
          if (result.txHash.toUpperCase() !== txHash) {
            // What happens under that hash may be another transaction's.
            doubt = `the node gave it another hash, ${quoted(result.txHash)}`;
          }
        })
        .catch((reason: unknown) => {
          if (!(reason instanceof OutcomeUnknownError) || callers?.aborted === true) {
            throw reason;
          }
        });
      const ending = await wait.ended;
      if (ending.kind !== "seen" && callers?.aborted === true) {
        throw unknownOutcome(transaction, new CanceledError({ cause: callers.reason }), sent.command);
      }
      return { txHash, transaction, outcome: await conclude({ ...services, headers }, sent, ending, doubt) };
    } finally {
      wait.close();
    }
  }

  function sendCommand(command: CommandSource, options: ExecuteCommandOptions): Promise<ExecutedCommand>;
  function sendCommand(command: CommandSource, options: SendCommandOptions): Promise<SentCommand>;
  async function sendCommand(command: CommandSource, options: ExecuteCommandOptions | SendCommandOptions) {
    if (!isExecute(options)) {
      return transactions.sendCommand(command, options);
    }
    await requireSendable(command, options, EXECUTE_COMMAND_OPTIONS); // What is wrong is said before the node is asked.
    const { type, timeoutMs = TIMEOUT_MS, signal: callers } = options;
    return within(timeoutMs, callers, async (signal) => {
      await watch.ready(signal); // Nothing is sent before the stream tells of what comes.
      const prepared = await transactions.prepare(command, options, signal);
      const { transaction, pastBlocks, block } = prepared;
      const sent = sentTransaction(transaction, { command: prepared.command, blockHeight: block.height });
      const submit = (ending: AbortSignal) => prepared.submit({ type, signal: ending });
      return execute({ sent, transaction, pastBlocks, isNew: true, isChecked: true }, submit, signal, options);
    });
  }

  function submitTransaction(request: SubmitRequest, options: ExecuteOptions): Promise<ExecutedCommand>;
  function submitTransaction(request: SubmitRequest, options?: SubmitOptions): Promise<SubmissionResult>;
  async function submitTransaction(request: SubmitRequest, options: ExecuteOptions | SubmitOptions = {}) {
    if (!isExecute(options)) {
      return transactions.submitTransaction(request, options);
    }
    requireKnown("options", options, EXECUTE_OPTIONS);
    checkCallOptions(options);
    const { timeoutMs = TIMEOUT_MS, signal: callers, headers } = options;
    const checked = readSubmission(request);
    const transaction = checked.tx;
    return within(timeoutMs, callers, async (signal) => {
      await watch.ready(signal);
      const { readInputData } = await import("../transaction/submitted-input-data.js");
      const inputData = readInputData(transaction);
      const { spamPowNumberOfPastBlocks: pastBlocks } = await transactions.lastBlockHeight({ signal, headers });
      const sent = sentTransaction(transaction, inputData);
      const submit = (ending: AbortSignal) => transactions.submitTransaction(checked, { signal: ending, headers });
      const isChecked = checked.type === submissionTypes.sync || checked.type === submissionTypes.commit;
      return execute({ sent, transaction, pastBlocks, isNew: false, isChecked }, submit, signal, options);
    });
  }

  return {
    sendCommand,
    submitTransaction,

    async outcome(given, options = {}) {
      const sent = readSent(given);
      requireKnown("options", options, CALL_OPTIONS);
      checkCallOptions(options);
      const { timeoutMs = OUTCOME_TIMEOUT_MS, signal: callers, headers } = options;
      const asked = { ...services, headers };
      const looking = within(timeoutMs, callers, async (signal) => {
        const wait = awaitResult(watch, sent.txHash, { signal, endsAfterLoss: false });
        try {
          // Its order says at once what a result would say; a result that waits for a block may still come.
          const now = await withoutResult(asked, sent, "its result has not come yet");
          const outcome = now.status === "unknown" ? await conclude(asked, sent, await wait.ended, EARLIER) : now;
          if (callers?.aborted === true && outcome.status === "unknown") {
            throw new CanceledError({ cause: callers.reason });
          }
          return outcome;
        } finally {
          wait.close();
        }
      });
      return await untilAborted(looking, callers); // A look may take longer.
    },
  };
}

/** A transaction to send, and how many blocks back the network takes those that are tied to one; 0 where it is not known. */
interface ToSend {
  readonly sent: Sent;
  readonly transaction: Transaction;
  readonly pastBlocks: number;
  /** Whether it was made just now, so that no block has it yet. */
  readonly isNew: boolean;
  /** Whether the node checks it before it answers: it refuses one that it has seen before. */
  readonly isChecked: boolean;
}

function isExecute(options: object): options is ExecuteOptions {
  requireObject("options", options);
  const until = "until" in options ? options.until : undefined;
  if (until !== undefined && until !== "executed") {
    throw new RequestError(`until is ${quoted(String(until))}`, {
      advice: 'Give "executed", or leave it out: then it is in the mempool or refused.',
    });
  }
  return until === "executed";
}
