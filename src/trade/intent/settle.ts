import { toBinary } from "@bufbuild/protobuf";
import { SubmitTransactionRequest_Type } from "../../../gen/client/vega/api/v1/core_pb.js";
import type { Transaction } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { InputDataSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import {
  ConnectionError,
  OutcomeUnknownError,
  RequestError,
  TradewireError,
  TransactionError,
} from "../../base/errors/index.js";
import { isTransient } from "../../base/errors/reaction.js";
import { linkedController, onAbort } from "../../base/signal/abort.js";
import { backoffMs, wait } from "../../base/signal/wait.js";
import { areRecordsComplete, execute, findOutcome, findRecordedOutcome, type ObservedNode } from "../live/execution.js";
import { type Sent, sentTransaction } from "../live/sent-transaction.js";
import { type Outcome, partOutcome } from "../live/transaction-outcome.js";
import { type CommandSource, readCommand } from "../transaction/input-data.js";
import { type Submission, unknownOutcome } from "../transaction/submission.js";
import type { CommandPreparation, SigningOptions, Transactions } from "../transaction/transactions.js";
import type { Validity } from "../transaction/validity.js";
import {
  endingEntry,
  executedEnding,
  failedEnding,
  type Intent,
  type IntentEnding,
  intentEntry,
  readIntent,
} from "./entries.js";
import type { Journal } from "./journal.js";

/** An intent that has ended. */
export type SettledIntent = IntentEnding & {
  readonly id: string;
  /**
   * The identifier of the order that an `orderSubmission` submits, 64 hex digits; `undefined` for other commands, whose
   * identifiers, such as those of stop orders, are in `parts`. If the intent failed, the network may have no order with it.
   */
  readonly orderId: string | undefined;
};

/** The services that sign, send and observe intents. */
export interface IntentServices {
  readonly transactions: Transactions & CommandPreparation;
  readonly node: ObservedNode;
  readonly journal: Pick<Journal, "read" | "append">;
  /** The signer, and the form of its transactions. */
  readonly signing: SigningOptions;
}

/** An intent that may not be in the journal yet. */
export interface WantedIntent {
  readonly id: string;
  /** The result of {@link commandOfIntent}; `undefined` for an intent that is in the journal. */
  readonly command: Uint8Array | undefined;
  readonly validity: Validity;
  /** How it ends if no evidence of its outcome is left; `undefined` to leave it open. */
  readonly decision?: Decision | undefined;
}

/** How a program decides that an intent ended. */
export type Decision = "executed" | "failed";

/** The maximum time of one look for what became of a transaction that cannot be taken any more, in milliseconds. */
const LOOK_MS = 10_000;

type Step =
  | { readonly kind: "waited"; readonly outcome: Outcome }
  /** No block can contain the transaction any more. If this is final, no later look shows more. */
  | { readonly kind: "over"; readonly outcome: Outcome; readonly isFinal: boolean; readonly sent: Sent }
  /** The network refused the transaction, which was not sent before. */
  | { readonly kind: "refused"; readonly error: TransactionError; readonly sent: Sent };

/**
 * Serializes the command of an intent.
 *
 * @throws {@link CommandError} and {@link RequestError} as `signCommand` does, and if the input data has a nonce or block height
 */
export function commandOfIntent(command: CommandSource): Uint8Array {
  const inputData = readCommand(command);
  if (inputData.nonce !== 0n || inputData.blockHeight !== 0n) {
    throw new RequestError("the input data of an intent must not contain a nonce or a block height", {
      advice: "Omit both: an intent may be signed more than once. Nothing was sent.",
    });
  }
  return toBinary(InputDataSchema, inputData);
}

/**
 * Settles an intent: begins or continues it, until it has ended. It is signed once, so it cannot be executed twice.
 *
 * @throws {@link OutcomeUnknownError} if it could not be settled; it stays open
 */
export async function settleIntent(
  services: IntentServices,
  wanted: WantedIntent,
  signal: AbortSignal,
): Promise<SettledIntent> {
  const { id } = wanted;
  let why = "its result did not arrive in time";
  for (let failures = 1; ; failures += 1) {
    const intent = await readFrom(services, wanted);
    if (intent?.ending !== undefined) {
      return settled(id, intent.ending);
    }
    let isFinal = false;
    try {
      const step =
        intent === undefined ? await sendNew(services, wanted, signal) : await sendAgain(services, intent, signal);
      const ending = endingOf(step, wanted);
      if (
        ending !== undefined &&
        (await services.journal.append(id, endingEntry(ending), { position: 1, isLast: true }))
      ) {
        return settled(id, ending);
      }
      isFinal = step.kind === "over" && step.isFinal;
      why =
        step.kind === "refused" || step.outcome.status !== "unknown"
          ? "another process is settling it"
          : step.outcome.reason;
    } catch (reason) {
      if (intent === undefined && (await readFrom(services, wanted)) === undefined) {
        throw signal.aborted && isTimeUp(signal) ? unsent(id, reason) : reason;
      }
      const isPassing = isTransient(reason) || reason instanceof OutcomeUnknownError || signal.aborted;
      if (!isPassing || (signal.aborted && !isTimeUp(signal))) {
        throw reason;
      }
      why = signal.aborted ? why : asError(reason).summary;
    }
    if (signal.aborted || isFinal) {
      throw await leftOpen(services, wanted, why, isFinal);
    }
    await wait(backoffMs(failures), signal).catch(() => undefined); // The next step ends with the signal.
  }
}

function settled(id: string, ending: IntentEnding): SettledIntent {
  const order = ending.parts.find(({ path, brings }) => path === "" && brings === "order");
  return { id, orderId: order?.id, ...ending };
}

/** Whether a signal was aborted by the time limit rather than by the caller. */
function isTimeUp({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}

/** Reads an intent from the journal. Its identifier must not have been used for another command or key. */
async function readFrom(
  { journal, signing }: IntentServices,
  { id, command }: WantedIntent,
): Promise<Intent | undefined> {
  const intent = readIntent(id, await journal.read(id));
  if (intent !== undefined && intent.publicKey !== signing.signer.publicKey) {
    throw new RequestError(
      `the journal contains the intent ${quoted(id)} for another key, ${quoted(intent.publicKey)}`,
      {
        advice: "Use a separate journal for each key. Nothing was sent.",
      },
    );
  }
  if (intent !== undefined && command !== undefined && !Buffer.from(command).equals(intent.command)) {
    throw new RequestError(`the journal contains the intent ${quoted(id)} with another command`, {
      advice: "Use a unique ID for each intent, and the same ID only to repeat an intent. Nothing was sent.",
    });
  }
  return intent;
}

/** Signs a transaction, writes it down, sends it, and waits for its outcome. */
async function sendNew(
  { transactions, node, journal, signing }: IntentServices,
  { id, command, validity }: WantedIntent,
  signal: AbortSignal,
): Promise<Step> {
  if (command === undefined) {
    throw new RequestError(`the intent ${quoted(id)} is not in the journal`, {
      advice: "Submit the intent with its command.",
    });
  }
  const made: { sent?: Sent } = {};
  try {
    const { outcome } = await execute(node, { signal }, async (making) => {
      const prepared = await transactions.prepare({ inputData: command }, { ...signing, ...validity }, making);
      const { transaction, block, pastBlocks, submit, giveBack } = prepared;
      made.sent = sentTransaction(transaction);
      const { publicKey } = signing.signer;
      const signed = { transaction, lastBlock: block.height + BigInt(pastBlocks) };
      const entry = intentEntry({ command, publicKey, chainId: block.chainId, signed });
      const isAdded = await journal.append(id, entry, { position: 0, isLast: false }).catch((reason: unknown) => {
        giveBack();
        throw reason;
      });
      if (!isAdded) {
        giveBack();
        throw overtaken(id);
      }
      const sending = sendUntilAnswered(transactions, transaction, (ending) => submit({ signal: ending }), false);
      return {
        ...prepared,
        isNew: true,
        isChecked: true,
        submit: sending,
        resend: resending(transactions, transaction),
      };
    });
    return { kind: "waited", outcome };
  } catch (reason) {
    if (made.sent !== undefined && reason instanceof TransactionError && !reason.mayHaveBeenTaken) {
      return { kind: "refused", error: reason, sent: made.sent };
    }
    throw reason;
  }
}

/** The error of an intent that another process has added to the journal in the meantime, and settles. */
function overtaken(id: string): ConnectionError {
  return new ConnectionError(`another process has added the intent ${quoted(id)} to the journal`, {
    code: Code.Aborted,
    advice: "This process sent nothing.",
    connected: false,
  });
}

/** Sends the same transaction again if the network may still take it, and waits for its outcome. */
async function sendAgain({ transactions, node }: IntentServices, intent: Intent, signal: AbortSignal): Promise<Step> {
  const { transaction, lastBlock } = intent.signed;
  const sent = sentTransaction(transaction);
  const height = await transactions.lastHeight(intent.chainId, signal);
  if (height >= lastBlock) {
    return (await areRecordsComplete(node, lastBlock, { signal }))
      ? { kind: "over", ...(await findRecordedOutcome(node, sent, LOOK_MS, { signal })), sent }
      : { kind: "over", outcome: await findOutcome(node, sent, LOOK_MS, { signal }), isFinal: false, sent };
  }
  const { outcome } = await execute(node, { signal }, async () => ({
    transaction,
    pastBlocks: Number(lastBlock - (sent.blockHeight ?? 0n)),
    validForBlocks: Number(lastBlock - height),
    isNew: false,
    isChecked: false, // A node that is behind accepts what is in a block already, so its answer proves nothing.
    submit: sendUntilAnswered(transactions, transaction, undefined, true),
    resend: resending(transactions, transaction),
  }));
  return { kind: "waited", outcome };
}

/**
 * Returns a submission that sends the same transaction until a node answers. The network executes it at most once, however often
 * it is sent.
 */
function sendUntilAnswered(
  transactions: Transactions,
  transaction: Transaction,
  first: ((signal: AbortSignal) => Promise<Submission>) | undefined,
  mayHaveBeenSent: boolean,
): (signal: AbortSignal, decided: AbortSignal) => Promise<Submission> {
  const again = resending(transactions, transaction);
  return async (callers, decided) => {
    const sending = linkedController(callers);
    const { signal } = sending;
    const leave = onAbort(decided, () => sending.abort(decided.reason));
    let send = first ?? again;
    let mayBeSent = mayHaveBeenSent;
    const fail = async (reason: unknown) => {
      throw mayBeSent || decided.aborted ? await unknownOutcome(transaction, asError(reason)) : reason;
    };
    try {
      for (let failures = 1; ; failures += 1) {
        try {
          return await send(signal);
        } catch (reason) {
          mayBeSent ||= reason instanceof OutcomeUnknownError;
          const isRefused = reason instanceof TransactionError;
          const isKnown = reason instanceof OutcomeUnknownError && reason.isKnownToNode;
          // A node that is behind does not know the block of the transaction, and cannot tell that from an old one.
          const isUnknownBlock = isRefused && reason.refusal === "expired";
          const isRetried = isUnknownBlock || isTransient(reason) || reason instanceof OutcomeUnknownError;
          if (isKnown || !isRetried) {
            // A refusal of what may have been sent before says nothing of the earlier submission.
            mayBeSent ||= isRefused && reason.mayHaveBeenTaken;
            await fail(reason);
          }
          mayBeSent ||= isUnknownBlock; // By another process, before: blocks decide it.
        }
        await wait(backoffMs(failures), signal).catch(fail);
        send = again;
      }
    } finally {
      leave();
    }
  };
}

function resending(transactions: Transactions, tx: Transaction): (signal: AbortSignal) => Promise<Submission> {
  return (signal) => transactions.submitTransaction({ tx, type: SubmitTransactionRequest_Type.SYNC }, { signal });
}

function asError(reason: unknown): TradewireError {
  return reason instanceof TradewireError
    ? reason
    : new ConnectionError(String(reason), { code: Code.Unknown, advice: "", connected: true, cause: reason });
}

/** The ending that a step shows; `undefined` if it leaves it open. */
function endingOf(step: Step, { decision }: WantedIntent): IntentEnding | undefined {
  if (step.kind === "refused") {
    const { txHash, parts } = step.sent;
    const { summary: reason, refusal, advice } = step.error;
    const failed = parts.map((part) => partOutcome(part, reason));
    return failedEnding("failed", { txHash, evidence: "refusal", reason, refusal, advice, parts: failed });
  }
  const { outcome } = step;
  if (outcome.status !== "unknown") {
    return outcome.status === "executed" ? executedEnding(outcome) : failedEnding(outcome.status, outcome);
  }
  return step.kind === "over" && step.isFinal && decision !== undefined
    ? decidedEnding(step.sent, decision)
    : undefined;
}

function decidedEnding({ txHash, parts }: Sent, decision: Decision): IntentEnding {
  const reason = "no evidence of its outcome was left, and the program decided it";
  const decided = parts.map((part) => partOutcome(part, decision === "failed" ? reason : undefined));
  const known = { txHash, evidence: "decision", parts: decided } as const;
  return decision === "failed" ? failedEnding(decision, { ...known, reason }) : executedEnding(known);
}

async function leftOpen(
  services: IntentServices,
  wanted: WantedIntent,
  why: string,
  isFinal: boolean,
): Promise<TradewireError> {
  const intent = await readFrom(services, wanted);
  const cause = new ConnectionError(`the outcome of intent ${quoted(wanted.id)} is unknown: ${why}`, {
    code: Code.DeadlineExceeded,
    advice: isFinal
      ? "Look at what it would have changed, then call end() with its status."
      : "The intent stays open in the journal. Call resume() to check again.",
    connected: true,
  });
  return intent === undefined ? unsent(wanted.id, cause) : unknownOutcome(intent.signed.transaction, cause);
}

function unsent(id: string, cause: unknown): ConnectionError {
  return new ConnectionError(`the deadline passed before intent ${quoted(id)} was signed`, {
    code: Code.DeadlineExceeded,
    advice: (nameOf) =>
      `Nothing was sent. Check that the node makes blocks, or allow more time (${nameOf("timeoutMs")}).`,
    connected: false,
    cause,
  });
}
