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

  constructor(result: SubmissionResult) {
    const data = decodeData(result.data);
    const said = [typeof data === "string" ? data : JSON.stringify(data), result.log].filter((text) => text !== "");
    const why = cut(said.join("; "), MAX_MESSAGE).replace(/\p{Cc}+/gu, " "); // The summary is one line.
    super(`the network refused the transaction (code ${result.code})${why === "" ? "" : `: ${why}`}`, {
      code: Code.FailedPrecondition,
      advice: "Nothing of it will be carried out. Correct what the reason names, and make a new transaction.",
    });
    this.result = result;
    this.data = data;
  }

  override toJSON() {
    return { ...super.toJSON(), result: this.result, data: this.data };
  }
}

/** The values that tell a transaction from all others. */
export interface TransactionIdentity {
  /** `tx.pow.tid`: the network takes each only once. */
  readonly tid: string;
  /** The sender. */
  readonly publicKey: string;
  /** `tx.signature.value`. */
  readonly signature: string;
}

/** A transaction was sent, and no answer says whether the node took it. */
export class OutcomeUnknownError extends TradewireError {
  readonly transaction: TransactionIdentity;

  constructor(transaction: TransactionIdentity, cause: TradewireError) {
    super(`${cause.summary}; whether transaction ${transaction.tid} was taken is not known`, {
      code: cause.code,
      advice:
        "Look for its effects under its public key before you make another; the same transaction may be sent again, for the network takes a tid once.",
      details: cause.details,
      cause,
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
