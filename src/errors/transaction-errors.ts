import type { JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Transaction } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import { RequestError } from "./errors.js";
import { cut, MAX_MESSAGE } from "./quoted.js";
import { mayHaveBeenTaken, type Refusal, refusalOf } from "./refusal.js";
import { TradewireError } from "./tradewire-error.js";

/** A command has fields that are wrong, so it was not signed. */
export class CommandError extends RequestError {
  /** Each field by its path in Protobuf's JSON, and what is wrong with it. */
  readonly problems: readonly { readonly path: string; readonly message: string }[];

  constructor(problems: CommandError["problems"]) {
    super(problems.map(({ path, message }) => `${path} ${message}`).join("; "), {
      advice: "Correct the command; nothing was signed or sent.",
      section: "commanderror",
    });
    this.problems = problems;
  }
}

/** A node's answer to a submitted transaction (specification, 2.6). */
export interface SubmissionResult {
  /** Whether it was found valid and placed in the mempool. */
  readonly success: boolean;
  /** Names the transaction in a node's event stream. */
  readonly txHash: string;
  /** Category of the failure; 0 where there is none. */
  readonly code: number;
  /** More about why it failed, as it came; often JSON. */
  readonly data: string;
  /** The message of the consensus layer about it. */
  readonly log: string;
  /** Unused. */
  readonly height: bigint;
}

/** The network refused a transaction (specification, 7). */
export class TransactionError extends TradewireError {
  /** The node's answer. */
  readonly result: SubmissionResult;
  /** `result.data`, decoded where it is JSON. */
  readonly data: JsonValue;
  /**
   * The reasons in `result.data`: each field by its path in Protobuf's JSON, and what is wrong with it. The path is empty
   * where the node names no field.
   */
  readonly problems: readonly { readonly path: string; readonly message: string }[];
  /** Why it was refused, by kind: each calls for another reaction. */
  readonly refusal: Refusal;
  /** Whether an earlier submission of this very transaction may have been taken. */
  readonly mayHaveBeenTaken: boolean;

  /**
   * @param result the node's answer
   * @param known what the caller knows of the transaction
   */
  constructor(result: SubmissionResult, known: RefusedTransaction = {}) {
    const data = decodeData(result.data);
    const problems = readProblems(data);
    const refusal = refusalOf(result.code, problems);
    const said = [typeof data === "string" ? data : JSON.stringify(data), result.log].filter((text) => text !== "");
    const why = cut(said.join("; "), MAX_MESSAGE).replace(/\p{Cc}+/gu, " "); // The summary is one line.
    super(`the network refused the transaction (code ${result.code})${why === "" ? "" : `: ${why}`}`, {
      code: Code.FailedPrecondition,
      advice: adviceFor(refusal, result.txHash, known),
      section: "transactionerror",
    });
    this.result = result;
    this.data = data;
    this.problems = problems;
    this.refusal = refusal;
    this.mayHaveBeenTaken = mayHaveBeenTaken(refusal, known.isFirst === true);
  }

  override toJSON() {
    const { result, data, refusal, mayHaveBeenTaken } = this;
    return { ...super.toJSON(), result, data, refusal, mayHaveBeenTaken };
  }
}

/** What is known of a transaction that was refused. */
export interface RefusedTransaction {
  /** Whether this client had the node check it before, which uses up its `tid`, and did not submit it. */
  readonly wasChecked?: boolean | undefined;
  /** Whether it was signed just now and had not been sent before. */
  readonly isFirst?: boolean | undefined;
  /** Whether its input data begins with the chain's identifier. */
  readonly isPrefixed?: boolean | undefined;
}

/** The values that tell a transaction from all others. */
export interface TransactionIdentity {
  /** What a node's event stream calls it by: 64 hex digits in upper case. */
  readonly txHash: string;
  /** `tx.pow.tid`: the network takes each only once. */
  readonly tid: string;
  /** The sender. */
  readonly publicKey: string;
  /** `tx.signature.value`. */
  readonly signature: string;
  /** The kind of its command, such as `orderSubmission`; absent where its input data cannot be read. */
  readonly command?: string | undefined;
}

/** A transaction was sent, and no answer says whether the node took it. */
export class OutcomeUnknownError extends TradewireError {
  readonly transaction: TransactionIdentity;
  /** The signed transaction, whose command names the parts that have outcomes; it is not in the error's JSON. */
  readonly signed: Transaction | undefined;
  /** Whether the node said that it has this very transaction: an earlier submission was taken. */
  readonly isKnownToNode: boolean;

  /**
   * @param transaction which one it is
   * @param cause what went wrong after it was sent
   * @param signed the signed transaction
   */
  constructor(transaction: TransactionIdentity, cause: TradewireError, signed?: Transaction) {
    const { tid, txHash } = transaction;
    const find = `client.outcome(error) or \`tradewire outcome ${txHash}\` finds out what became of it; sign no other one before.`;
    const isKnownToNode = hasInCache(cause);
    super(
      isKnownToNode
        ? `the node already has transaction ${txHash}; its outcome is not known yet`
        : `${cause.summary}; whether transaction ${tid} was taken is not known`,
      {
        code: cause.code,
        advice: isKnownToNode
          ? `It was submitted before, and was not taken a second time: ${find}`
          : `${find} Submitting this very transaction again is safe, as the network takes it at most once.`,
        details: cause.details,
        cause,
        section: "outcomeunknownerror",
      },
    );
    this.transaction = transaction;
    this.signed = signed;
    this.isKnownToNode = isKnownToNode;
  }

  override toJSON() {
    return { ...super.toJSON(), transaction: this.transaction, isKnownToNode: this.isKnownToNode };
  }
}

/** Whether a node refused a transaction because it is in its cache: it has taken this very transaction before. */
function hasInCache({ code, details, summary }: TradewireError): boolean {
  const texts = [summary, ...details.map(({ message }) => message)];
  return code === Code.Internal && texts.some((said) => typeof said === "string" && said.includes(IN_CACHE));
}

/** CometBFT's words for a transaction that its mempool's cache holds. */
const IN_CACHE = "tx already exists in cache";

/** A result's data: decoded where it is an object or a list in JSON, else the text. */
function decodeData(data: string): JsonValue {
  if (!/^\s*[[{]/.test(data)) {
    return data;
  }
  try {
    const value: JsonValue = JSON.parse(data);
    return value;
  } catch {
    return data;
  }
}

/** How much of a node's plain text is searched for fields. */
const MOST_TEXT = 10_000;

/** The reasons of a refusal: by path in JSON, or as text, such as `order_submission.size (size is too large)`. */
function readProblems(data: JsonValue): { path: string; message: string }[] {
  if (data === "") {
    return [];
  }
  if (typeof data === "object" && data !== null && !Array.isArray(data)) {
    return Object.entries(data).flatMap(([path, messages]) =>
      (Array.isArray(messages) ? messages : [messages]).map((message) => ({ path, message: text(message) })),
    );
  }
  const said = text(data);
  const fields = said.slice(0, MOST_TEXT).matchAll(/([\w.*[\]]+) \((.*?)\)(?=,\s*[\w.*[\]]+ \(|$)/g);
  const problems = [...fields].map(([, path = "", message = ""]) => ({ path: camelCase(path), message }));
  return problems.length > 0 ? problems : [{ path: "", message: said }];
}

function text(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function camelCase(path: string): string {
  return path.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function adviceFor(refusal: Refusal, txHash: string, known: RefusedTransaction): string {
  const { wasChecked, isFirst, isPrefixed } = known;
  const isHash = /^[0-9a-f]{64}$/i.test(txHash);
  const look = `${isHash ? `Run \`tradewire outcome ${txHash}\` to look` : "Look"} for its outcome before you sign another.`;
  switch (refusal) {
    case "duplicate":
      return `The network already has this transaction, or another one with its tid or nonce; it was not taken a second time. ${look}`;
    case "seen":
      return wasChecked === true
        ? "This client asked the node to check it, and the node refuses a tid that it has checked until the next block. Sign the command again, or submit it after the next block."
        : `It may have been taken by an earlier submission; the node also refuses a tid that it has checked, until the next block. ${look}`;
    case "expired":
      if (isFirst === true) {
        return "None of it will be executed: the node does not know the block that it is tied to, or finds it too old. Sign the command again.";
      }
      return `The block that it is tied to is too old or not known, so it cannot be taken any more. An earlier submission may have been taken. ${look}`;
    case "spam-unknown":
      return `The reason is not a known one, so an earlier submission may have been taken. ${look}`;
    case "spam":
      return "None of it will be executed. The key has reached a limit, or the proof of work is wrong; sign a new transaction when the reason no longer holds.";
    case "profile":
      return isPrefixed === false
        ? "The node expects the chain id in front of the input data: use --profile specification (`profile` in the configuration), and sign again."
        : "The node expects the input data without the chain id in front: use --profile deployed (`profile` in the configuration), and sign again.";
    case "not-executable":
      return "None of it will be executed. The command is valid, but the network cannot execute it as things are: check the market, the accounts and the balances it needs.";
    case "invalid":
      return "None of it will be executed. Correct what the reason names, and sign a new transaction.";
  }
}
