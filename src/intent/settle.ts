import { toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { SubmitTransactionRequest_Type } from "../../gen/client/vega/api/v1/core_pb.js";
import type { Transaction } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import { InputDataSchema } from "../../gen/vega/commands/v1/transaction_pb.js";
import { quoted } from "../errors/error-text.js";
import {
  ConnectionError,
  OutcomeUnknownError,
  type Refusal,
  RequestError,
  TradewireError,
  TransactionError,
} from "../errors/index.js";
import { isTransient } from "../errors/reaction.js";
import { execute, findOutcome, type ObservedNode } from "../live/execution.js";
import { sentTransaction } from "../live/sent-transaction.js";
import type { Outcome } from "../live/transaction-outcome.js";
import { linkedController, onAbort } from "../signal/abort.js";
import { backoffMs, wait } from "../signal/wait.js";
import type { Validity } from "../transaction/block-allowance.js";
import { type CommandSource, readCommand } from "../transaction/input-data.js";
import { requireChain } from "../transaction/signing-chain.js";
import { type Submission, unknownOutcome } from "../transaction/submission.js";
import type { CommandPreparation, SignCommandOptions, Transactions } from "../transaction/transactions.js";
import { endingEntry, type Intent, type IntentEnding, intentEntry, readIntent, transactionEntry } from "./entries.js";
import type { Journal } from "./journal.js";

/** An intent that has ended. */
export type SettledIntent = IntentEnding & { readonly id: string };

/** With what intents are signed, sent and observed. */
export interface IntentServices {
  readonly transactions: Transactions & CommandPreparation;
  readonly node: ObservedNode;
  readonly journal: Journal;
  /** The signer, and the form of its transactions. */
  readonly signing: Pick<SignCommandOptions, "signer" | "chainId" | "chainIdPrefix" | "maxDifficulty" | "version">;
}

/** An intent that may not be in the journal yet. */
export interface WantedIntent {
  readonly id: string;
  /** What {@link commandOfIntent} returns; `undefined` for an intent that is in the journal. */
  readonly command: Uint8Array | undefined;
  readonly validity: Validity;
}

/** The maximum time of one look for what became of a transaction that cannot be taken any more, in milliseconds. */
const LOOK_MS = 10_000;

/** How often what became of such a transaction is looked for, before it is left open: a data node may be behind. */
const MAX_LOOKS = 6;

/** How often an intent is signed anew. */
const MAX_TRANSACTIONS = 20;

/** The refusals of a transaction as such: another transaction for the same intent may be accepted. */
const SIGN_ANEW: readonly Refusal[] = ["spam", "expired", "seen", "duplicate"];

/** What one attempt has shown. */
type Step =
  | { readonly kind: "outcome"; readonly outcome: Outcome }
  /** The network refused the transaction, which was not sent before. */
  | { readonly kind: "refused"; readonly error: TransactionError }
  /** Another process has added an entry. */
  | { readonly kind: "overtaken" };

/**
 * Serializes the command of an intent.
 *
 * @param command the command by its name and fields, or serialized input data
 * @returns the input data without a nonce and block height
 * @throws {@link CommandError} and {@link RequestError} as `signCommand` does, and if the input data has a nonce or block height
 */
export function commandOfIntent(command: CommandSource): Uint8Array {
  const inputData = readCommand(command);
  if (inputData.nonce !== 0n || inputData.blockHeight !== 0n) {
    throw new RequestError("the input data of an intent has a nonce or a block height", {
      advice: "Leave both out: an intent may be signed more than once. Nothing was sent.",
    });
  }
  return toBinary(InputDataSchema, inputData);
}

/**
 * Settles an intent: begins it or goes on with it, until it has ended.
 *
 * @param services signs, sends and observes
 * @param wanted the intent
 * @param signal ends the wait; the intent stays open then
 * @returns how it ended
 * @throws {@link OutcomeUnknownError} if it could not be settled; it stays open
 */
export async function settleIntent(
  services: IntentServices,
  wanted: WantedIntent,
  signal: AbortSignal,
): Promise<SettledIntent> {
  const { id } = wanted;
  const progress: Progress = { signings: 0, looks: 0, isGone: false };
  for (let failures = 1; ; failures += 1) {
    const intent = await readFrom(services.journal, wanted);
    if (intent?.ending !== undefined) {
      return { id, ...intent.ending };
    }
    try {
      const ending = await advance(services, wanted, intent, progress, signal);
      if (ending !== undefined) {
        return { id, ...ending };
      }
    } catch (reason) {
      progress.isGone = false;
      const isSigned = (await services.journal.read(id)).length > 0;
      if (signal.aborted || !isSigned || reason instanceof IntentLeftOpen || !mayPass(reason)) {
        throw reason instanceof IntentLeftOpen ? reason.error : reason;
      }
    }
    await wait(backoffMs(failures), signal);
  }
}

/** How far the settling of an intent has come in this process. */
interface Progress {
  /** How often it was signed. */
  signings: number;
  /** How often the outcome of a transaction was looked for that cannot be taken any more. */
  looks: number;
  /** Whether its last transaction is certainly not executed: another one may be signed. */
  isGone: boolean;
}

/** Nothing more is done about an intent in this process. */
class IntentLeftOpen extends Error {
  constructor(readonly error: OutcomeUnknownError) {
    super(error.message);
  }
}

/** Whether the same may succeed later. What was sent is still observed. */
function mayPass(reason: unknown): boolean {
  return isTransient(reason) || reason instanceof OutcomeUnknownError;
}

/** Takes one step; returns how the intent ended, or `undefined` if more steps are needed. */
async function advance(
  services: IntentServices,
  wanted: WantedIntent,
  before: Intent | undefined,
  progress: Progress,
  signal: AbortSignal,
): Promise<IntentEnding | undefined> {
  const { journal, transactions } = services;
  const height = async () => (await transactions.lastBlockHeight({ signal })).height;
  let step: Step;
  if (before === undefined || progress.isGone) {
    progress.signings += 1;
    step = await sendNew(services, wanted, before, signal);
  } else {
    step = await sendAgain(services, before, signal);
  }
  progress.isGone = false;
  const intent = await readFrom(journal, wanted);
  if (step.kind === "overtaken" || intent === undefined || intent.ending !== undefined) {
    return intent?.ending;
  }
  const ending = endingOf(step, intent);
  if (ending === undefined) {
    progress.looks += (await height()) >= intent.signed.lastBlock ? 1 : 0;
    if (progress.looks >= MAX_LOOKS) {
      throw new IntentLeftOpen(await leftOpen(wanted.id, intent.signed.transaction, step));
    }
    return undefined;
  }
  const isOfTransaction = ending.status === "expired" || isRefusedAsSuch(step);
  if (isOfTransaction && progress.signings < MAX_TRANSACTIONS && (await height()) < intent.lastBlock) {
    progress.isGone = true;
    return undefined;
  }
  const isAppended = await journal.append(wanted.id, endingEntry(ending), { position: intent.entries, isLast: true });
  return isAppended ? ending : undefined;
}

/** Reads an intent from the journal. Its identifier must not have been used for another command or key. */
async function readFrom({ read }: Journal, { id, command }: WantedIntent): Promise<Intent | undefined> {
  const intent = readIntent(id, await read(id));
  if (intent !== undefined && command !== undefined && !Buffer.from(command).equals(intent.command)) {
    throw new RequestError(`the intent ${quoted(id)} is in the journal with another command`, {
      advice: "Give each intent an identifier of its own; the same one only to repeat it. Nothing was sent.",
    });
  }
  return intent;
}

/** Signs a transaction, writes it down, sends it, and waits for its outcome. */
async function sendNew(
  services: IntentServices,
  { id, command: given, validity }: WantedIntent,
  before: Intent | undefined,
  signal: AbortSignal,
): Promise<Step> {
  const { transactions, node, journal, signing } = services;
  const command = before?.command ?? given;
  if (command === undefined) {
    throw new RequestError(`the intent ${quoted(id)} is not in the journal`, { advice: "Submit it with its command." });
  }
  const { validForBlocks, limited } = await limitsOf(transactions, before, validity, signal);
  const chainId = before?.chainId ?? signing.chainId;
  const overtaken = new Error("overtaken");
  try {
    const { outcome } = await execute(node, { signal }, async (making) => {
      const prepared = await transactions.prepare({ inputData: command }, { ...signing, chainId, ...limited }, making);
      const { transaction, block, pastBlocks, submit, giveBack } = prepared;
      const signed = { transaction, lastBlock: block.height + BigInt(pastBlocks) };
      const from = signed.lastBlock - BigInt(prepared.validForBlocks);
      const lastBlock = validForBlocks === undefined ? signed.lastBlock : from + BigInt(validForBlocks);
      const { publicKey } = signing.signer;
      const entry =
        before === undefined
          ? intentEntry({
              command,
              publicKey,
              chainId: block.chainId,
              lastBlock,
              signed,
              ending: undefined,
              entries: 0,
            })
          : transactionEntry(signed);
      const isAdded = await journal
        .append(id, entry, { position: before?.entries ?? 0, isLast: false })
        .catch((reason: unknown) => {
          giveBack();
          throw reason;
        });
      if (!isAdded) {
        giveBack();
        throw overtaken;
      }
      const sending = sendUntilAnswered(transactions, transaction, (ending) => submit({ signal: ending }), false);
      return { ...prepared, isNew: true, isChecked: true, submit: sending };
    });
    return { kind: "outcome", outcome };
  } catch (reason) {
    if (reason === overtaken) {
      return { kind: "overtaken" };
    }
    return refusedStep(reason);
  }
}

/** In how many blocks an intent may be executed, and a transaction that is signed now. */
async function limitsOf(
  transactions: Transactions,
  before: Intent | undefined,
  { validForBlocks: asked, validForMs }: Validity,
  signal: AbortSignal,
): Promise<{ readonly validForBlocks: number | undefined; readonly limited: Validity }> {
  if (before === undefined && asked === undefined) {
    return { validForBlocks: undefined, limited: { validForMs } };
  }
  const { height, spamPowNumberOfPastBlocks: past } = await transactions.lastBlockHeight({ signal });
  const validForBlocks = before === undefined ? asked : Number(before.lastBlock - height);
  return { validForBlocks, limited: { validForBlocks: validForBlocks && Math.min(validForBlocks, past) } };
}

/** Sends the same transaction again if the network may still take it, and waits for its outcome. */
async function sendAgain(services: IntentServices, intent: Intent, signal: AbortSignal): Promise<Step> {
  const { transactions, node } = services;
  const { transaction, lastBlock } = intent.signed;
  const { height, chainId, spamPowNumberOfPastBlocks: pastBlocks } = await transactions.lastBlockHeight({ signal });
  requireChain(chainId, intent.chainId);
  if (height >= lastBlock) {
    return { kind: "outcome", outcome: await findOutcome(node, sentTransaction(transaction), LOOK_MS, { signal }) };
  }
  const { outcome } = await execute(node, { signal }, async () => ({
    transaction,
    pastBlocks,
    validForBlocks: Number(lastBlock - height),
    isNew: false,
    isChecked: true,
    submit: sendUntilAnswered(transactions, transaction, undefined, true),
  }));
  return { kind: "outcome", outcome };
}

/**
 * Returns a submission that sends the same transaction until a node answers. The network executes it once at most, however
 * often it is sent.
 *
 * @param transactions submits it
 * @param transaction the transaction
 * @param first sends it for the first time; `undefined` if it may have been sent before
 * @param mayHaveBeenSent whether it may have been sent before
 * @returns the submission; it fails with a {@link TransactionError} only if the network refused it when it was sent first
 */
function sendUntilAnswered(
  transactions: Transactions,
  transaction: Transaction,
  first: ((signal: AbortSignal) => Promise<Submission>) | undefined,
  mayHaveBeenSent: boolean,
): (signal: AbortSignal, decided: AbortSignal) => Promise<Submission> {
  const again = (signal: AbortSignal) =>
    transactions.submitTransaction({ tx: transaction, type: SubmitTransactionRequest_Type.SYNC }, { signal });
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
          if (isRefused || isKnown || !mayPass(reason)) {
            // A refusal of what may have been sent before says nothing of the earlier submission.
            mayBeSent ||= isRefused && reason.mayHaveBeenTaken;
            await fail(reason);
          }
        }
        await wait(backoffMs(failures), signal).catch(fail);
        send = again;
      }
    } finally {
      leave();
    }
  };
}

function asError(reason: unknown): TradewireError {
  return reason instanceof TradewireError
    ? reason
    : new ConnectionError(String(reason), { code: Code.Unknown, advice: "", connected: true, cause: reason });
}

function refusedStep(reason: unknown): Step {
  if (reason instanceof TransactionError && !reason.mayHaveBeenTaken) {
    return { kind: "refused", error: reason };
  }
  throw reason;
}

function isRefusedAsSuch(step: Step): boolean {
  return step.kind === "refused" && SIGN_ANEW.includes(step.error.refusal);
}

/** The ending that a step shows; `undefined` if it leaves it open. */
function endingOf(step: Exclude<Step, { readonly kind: "overtaken" }>, intent: Intent): IntentEnding | undefined {
  if (step.kind === "refused") {
    const { txHash } = sentTransaction(intent.signed.transaction);
    return { status: "rejected", txHash, block: undefined, evidence: "refusal", reason: step.error.summary };
  }
  const { outcome } = step;
  switch (outcome.status) {
    case "unknown":
      return undefined;
    case "executed": {
      const { status, txHash, block, evidence } = outcome;
      return { status, txHash, block, evidence, reason: undefined };
    }
    case "partial": {
      const { status, txHash, block, evidence, reason } = outcome;
      return { status, txHash, block, evidence, reason };
    }
    case "failed": {
      const { txHash, block, evidence, reason } = outcome;
      return evidence === "blocks" || evidence === "absence"
        ? { status: "expired", txHash, block: undefined, evidence, reason }
        : { status: "rejected", txHash, block, evidence, reason };
    }
  }
}

async function leftOpen(id: string, transaction: Transaction, step: Step): Promise<OutcomeUnknownError> {
  const why = step.kind === "outcome" && step.outcome.status === "unknown" ? `: ${step.outcome.reason}` : "";
  const cause = new ConnectionError(`nothing shows what became of intent ${quoted(id)}${why}`, {
    code: Code.DeadlineExceeded,
    advice: "It stays open in the journal: resume() looks again.",
    connected: true,
  });
  return unknownOutcome(transaction, cause);
}
