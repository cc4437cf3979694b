import type { Transaction } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { withCaller } from "../../base/errors/caller-stack.js";
import { OutcomeUnknownError, RequestError } from "../../base/errors/index.js";
import { assertKnownKeys, assertObject, invalidValueError } from "../../base/input/assert.js";
import { CALL_OPTIONS, type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import { lazily } from "../../base/input/lazy.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { linkedController, raceAbort } from "../../base/signal/abort.js";
import { loadCommandCode } from "../transaction/command-code.js";
import { remainingMs, withTimeout } from "../transaction/deadline.js";
import type { CommandSource } from "../transaction/input-data.js";
import { requireSignature } from "../transaction/signature.js";
import { requireChain } from "../transaction/signing-chain.js";
import {
  readSubmission,
  type Submission,
  type SubmissionType,
  type SubmitOptions,
  type SubmitRequest,
  submissionTypes,
} from "../transaction/submission.js";
import {
  type CommandPreparation,
  readSendable,
  type SendCommandOptions,
  type SentCommand,
  SIGN_OPTIONS,
  type SignCommandOptions,
  TIMEOUT_MS,
  type Transactions,
} from "../transaction/transactions.js";
import type { ExecutedCommand, ExecuteOptions, ObservedNode } from "./execution.js";
import { loadDefinitions } from "./load-definitions.js";
import type { Outcome } from "./transaction-outcome.js";

/** How to create a transaction from a command, submit it, and wait for its outcome. */
export interface ExecuteCommandOptions extends SignCommandOptions, ExecuteOptions {
  /**
   * When the node replies: `sync` (after its check, the default), `async` (immediately) or `commit` (after the block).
   */
  readonly type?: SubmissionType | undefined;
}

/** How long to search for the outcome of a transaction. */
export interface OutcomeOptions extends CallOptions {
  /** Total time limit, in milliseconds; 30000 by default. */
  readonly timeoutMs?: number | undefined;
}

/** The names of {@link ExecuteOptions}, and those of {@link ExecuteCommandOptions}. */
const EXECUTE_OPTIONS = { ...CALL_OPTIONS, until: true, onWait: true } as const;
const EXECUTE_COMMAND_OPTIONS = { ...SIGN_OPTIONS, ...EXECUTE_OPTIONS, type: true } as const;

/** The operations that send transactions and report their outcomes. */
export interface Outcomes {
  /**
   * Creates a transaction from a command, submits it once, and waits for its outcome. The event bus is observed from
   * before it is sent.
   *
   * @param command the command by its name and fields, or serialized input data
   * @param options the signer, the transaction's form, and the total time limit
   * @returns the outcome: executed, failed, executed in part, or unknown, with what was searched
   * @throws the errors of {@link Transactions.sendCommand} if it was not sent or the node refused it;
   *   {@link OutcomeUnknownError} if the signal was aborted after it was sent
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
   * Submits a signed transaction once, and waits for its outcome.
   *
   * @param request the transaction, and when the node replies: `sync` (after its check), `async` (immediately) or `commit`
   *   (after the block)
   * @param options `until: "executed"`, a signal, headers, and a time limit for the whole call
   * @returns the outcome, in the form that `sendCommand` returns
   * @throws the errors of {@link Transactions.submitTransaction} if it was not sent or the node refused it;
   *   {@link RequestError} if its signature does not cover its input data (nothing was sent);
   *   {@link OutcomeUnknownError} if the signal was aborted after it was sent
   */
  submitTransaction(request: SubmitRequest, options: ExecuteOptions): Promise<ExecutedCommand>;
  /**
   * Submits a signed transaction once, without waiting for its outcome.
   *
   * @param request the transaction, and when the node replies: `sync` (after its check), `async` (immediately) or `commit`
   *   (after the block)
   * @param options a signal, headers and a time limit
   * @returns the node's reply
   * @throws the errors of {@link Transactions.submitTransaction}
   */
  submitTransaction(request: SubmitRequest, options?: SubmitOptions): Promise<Submission>;
  /**
   * Finds the outcome of a transaction that was sent earlier. Events cannot be replayed, so this reads the records that
   * the data node stores of it, by its hash and, if its signature is known, by the identifiers that are derived from
   * the signature. If the records are not conclusive, it waits for the transaction's result.
   *
   * With the hash alone, a failed part of a batch cannot be detected, because it leaves no record: if the records are
   * orders, the outcome is `unknown`. Pass the signed transaction or the error to learn more.
   *
   * @param sent its hash, 64 hex digits; the signed transaction; or the error that says that its outcome is unknown
   * @param options how long to wait
   * @returns the outcome; `unknown`, with the places that were searched, if nothing shows it
   * @throws {@link RequestError} if it is not a hash, its signature does not cover its input data, or the node is on
   *   a different chain than the configured one; {@link CanceledError} if the signal was aborted
   *
   * @example
   * const { status } = await client.outcome(txHash, { timeoutMs: 10_000 });
   */
  outcome(sent: string | Transaction | OutcomeUnknownError, options?: OutcomeOptions): Promise<Outcome>;
}

/** {@link Outcomes}, and what this library itself sends. */
export interface OutcomeOperations extends Outcomes {
  /** Like `sendCommand`, but at once, though other transactions of the key wait for their turn. */
  sendUrgently(command: CommandSource, options: ExecuteCommandOptions): Promise<ExecutedCommand>;
}

/** How long the result of a transaction that was sent earlier is waited for, in milliseconds. */
const OUTCOME_TIMEOUT_MS = 30_000;

/** How long to wait for the chain ID of the node, in milliseconds. */
const CHAIN_CHECK_MS = 5_000;

/**
 * Loads what sends transactions and finds their outcomes. It is called before anything is sent, so that nothing is left to load
 * when it matters.
 */
export const loadSending = lazily(async () => {
  const loadingParser = import("./sent-transaction.js").then((sent) => sent.parseSent);
  const loading = [import("./execution.js"), loadingParser, loadDefinitions(), loadCommandCode()] as const;
  const [execution, parseSent] = await Promise.all(loading);
  return { ...execution, parseSent };
});

export function createOutcomes(
  transactions: Transactions & CommandPreparation,
  node: ObservedNode,
  chainId: string | undefined,
): OutcomeOperations {
  /** The node is asked only if the chain is not configured. */
  const chainOf = (options: CallOptions) => async () =>
    chainId ?? (await transactions.lastBlockHeight({ signal: options.signal, headers: options.headers })).chainId;

  /**
   * Rejects a node on a different chain than the configured one, because its records prove nothing. If the node does not
   * answer in time, the search continues.
   */
  async function requireNamedChain(timeoutMs: number, { headers, signal: callers }: OutcomeOptions): Promise<void> {
    if (chainId === undefined) {
      return;
    }
    const answered = await withTimeout(timeoutMs, callers, (signal) =>
      transactions.lastBlockHeight({ signal, headers }),
    ).catch((reason: unknown) => {
      if (reason instanceof RequestError && reason.errorCode === "TW_CHAIN_MISMATCH") {
        throw reason;
      }
    });
    if (answered !== undefined) {
      requireChain(answered.chainId, chainId);
    }
  }

  function sendCommand(command: CommandSource, options: ExecuteCommandOptions): Promise<ExecutedCommand>;
  function sendCommand(command: CommandSource, options: SendCommandOptions): Promise<SentCommand>;
  async function sendCommand(given: CommandSource, givenOptions: ExecuteCommandOptions | SendCommandOptions) {
    if (!isExecute(givenOptions)) {
      return await transactions.sendCommand(given, givenOptions);
    }
    return await withCaller(() => executeCommand(given, givenOptions, false));
  }

  async function executeCommand(given: CommandSource, givenOptions: ExecuteCommandOptions, isUrgent: boolean) {
    // What is wrong is said before the node is asked.
    const { command, options } = await readSendable(given, givenOptions, EXECUTE_COMMAND_OPTIONS);
    const { type } = options;
    const { execute } = await loadSending();
    return execute(node, options, async (signal) => {
      const { submit, ...prepared } = await transactions.prepare(command, { ...options, isUrgent }, signal);
      const isNew = true; // It was made just now, so no block has it yet.
      return { ...prepared, isNew, isChecked: true, submit: (ending) => submit({ type, signal: ending }) };
    });
  }

  function submitTransaction(request: SubmitRequest, options: ExecuteOptions): Promise<ExecutedCommand>;
  function submitTransaction(request: SubmitRequest, options?: SubmitOptions): Promise<Submission>;
  async function submitTransaction(request: SubmitRequest, options: ExecuteOptions | SubmitOptions = {}) {
    if (!isExecute(options)) {
      return await withCaller(async () => {
        await loadSending();
        return transactions.submitTransaction(request, options);
      });
    }
    return await withCaller(async () => {
      assertKnownKeys("options", options, EXECUTE_OPTIONS);
      validateCallOptions(options);
      const { headers, signal: callers, timeoutMs = TIMEOUT_MS } = options;
      const startedAt = monotonicMs();
      const checked = readSubmission(request);
      await withTimeout(timeoutMs, callers, (signal) => requireSignature(checked.tx, chainOf({ signal, headers })));
      const { execute } = await loadSending();
      const leftMs = options.timeoutMs === undefined ? undefined : remainingMs(timeoutMs, startedAt);
      return execute(node, { ...options, timeoutMs: leftMs }, async (signal) => {
        const { spamPowNumberOfPastBlocks: pastBlocks } = await transactions.lastBlockHeight({ signal, headers });
        return {
          transaction: checked.tx,
          pastBlocks,
          validForBlocks: pastBlocks,
          isNew: false,
          isChecked: checked.type === submissionTypes.sync || checked.type === submissionTypes.commit,
          submit: (ending) => transactions.submitTransaction(checked, { signal: ending, headers }),
        };
      });
    });
  }

  return {
    sendCommand,
    sendUrgently: (command, options) => executeCommand(command, options, true),
    submitTransaction,

    async outcome(given, options = {}) {
      const { findOutcome, parseSent: readSent } = await loadSending();
      const sent = readSent(given);
      assertKnownKeys("options", options, CALL_OPTIONS);
      validateCallOptions(options);
      const { timeoutMs = OUTCOME_TIMEOUT_MS } = options;
      const startedAt = monotonicMs();
      const signed = given instanceof OutcomeUnknownError ? given.signed : given;
      if (typeof signed === "object") {
        const { headers } = options;
        await withTimeout(timeoutMs, options.signal, (signal) =>
          requireSignature(signed, chainOf({ signal, headers })),
        );
      }
      const leftMs = remainingMs(timeoutMs, startedAt);
      const ending = linkedController(options.signal);
      try {
        const finding = findOutcome(node, sent, leftMs, { ...options, signal: ending.signal });
        const checking = requireNamedChain(Math.min(leftMs, CHAIN_CHECK_MS), options);
        const [outcome] = await raceAbort(Promise.all([finding, checking]), options.signal);
        return outcome;
      } finally {
        ending.abort(); // On another chain, the search goes no further.
      }
    },
  };
}

function isExecute(options: object): options is ExecuteOptions {
  assertObject("options", options);
  const until = "until" in options ? options.until : undefined;
  if (until !== undefined && until !== "executed") {
    const advice = "Omit it to return once the transaction is in the mempool or refused.";
    throw invalidValueError("until", until, '"executed"', advice);
  }
  return until === "executed";
}
