import type { JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { RequestError } from "./errors.js";
import { cut, MAX_MESSAGE } from "./quoted.js";
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
  /**
   * Whether an earlier submission of this very transaction may have been taken: its `tid` was used before, or its block
   * is too old.
   */
  readonly mayHaveBeenTaken: boolean;

  constructor(result: SubmissionResult) {
    const data = decodeData(result.data);
    const problems = readProblems(data);
    const mayHaveBeenTaken = problems.some(isOfSentBefore);
    const said = [typeof data === "string" ? data : JSON.stringify(data), result.log].filter((text) => text !== "");
    const why = cut(said.join("; "), MAX_MESSAGE).replace(/\p{Cc}+/gu, " "); // The summary is one line.
    super(`the network refused the transaction (code ${result.code})${why === "" ? "" : `: ${why}`}`, {
      code: Code.FailedPrecondition,
      advice: mayHaveBeenTaken
        ? sentBefore(result.txHash)
        : "Nothing of it will be carried out. Correct what the reason names, and make a new transaction.",
      section: "transactionerror",
    });
    this.result = result;
    this.data = data;
    this.problems = problems;
    this.mayHaveBeenTaken = mayHaveBeenTaken;
  }

  override toJSON() {
    return { ...super.toJSON(), result: this.result, data: this.data, mayHaveBeenTaken: this.mayHaveBeenTaken };
  }
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
  /** The kind of its command, such as `orderSubmission`; absent where it was signed before it was submitted. */
  readonly command?: string | undefined;
}

/** A transaction was sent, and no answer says whether the node took it. */
export class OutcomeUnknownError extends TradewireError {
  readonly transaction: TransactionIdentity;

  constructor(transaction: TransactionIdentity, cause: TradewireError) {
    super(`${cause.summary}; whether transaction ${transaction.tid} was taken is not known`, {
      code: cause.code,
      advice: `Find out what became of it before you make another: client.outcome(error), or tradewire outcome ${transaction.txHash}. The very same one may be sent again, as a network takes a tid once; if it is then refused as seen before or as too old, this one may have been taken.`,
      details: cause.details,
      cause,
      section: "outcomeunknownerror",
    });
    this.transaction = transaction;
  }

  override toJSON() {
    return { ...super.toJSON(), transaction: this.transaction };
  }
}

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

/** Whether a reason is one for which a node refuses a transaction that was taken before. */
function isOfSentBefore({ path, message }: { readonly path: string; readonly message: string }): boolean {
  switch (path) {
    case "":
      return /\b(tid|transaction id) already\b|\btoo old\b|\bunknown block height\b/i.test(message);
    case "tx.pow.tid":
    case "tx.inputData.nonce":
      return message.startsWith("was used");
    default:
      return path === "tx.inputData.blockHeight" && message.includes("not one of the blocks");
  }
}

function sentBefore(txHash: string): string {
  const named = /^[0-9a-f]{64}$/i.test(txHash) ? `, hash ${txHash},` : "";
  return `An earlier submission of this very transaction${named} may have been taken. Look for its effects under its public key, or for its hash in the node's event stream, before you make another.`;
}
