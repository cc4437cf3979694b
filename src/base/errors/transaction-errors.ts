import type { JsonValue } from "@bufbuild/protobuf";
import type { Transaction } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { withJson } from "../json-result.js";
import { Code } from "./code.js";
import { RequestError, TradewireError } from "./error-classes.js";
import { MAX_MESSAGE, truncate } from "./error-text.js";

/** A command has invalid fields, so it was not signed. */
export class CommandError extends RequestError {
  /** Each invalid field, by its path in Protobuf's JSON, and what is wrong with it. */
  readonly problems: readonly { readonly path: string; readonly message: string }[];

  constructor(problems: CommandError["problems"], advice: string = "Correct the command. Nothing was signed or sent.") {
    super(problems.map(({ path, message }) => `${path} ${message}`).join("; "), {
      advice,
      errorCode: "TW_INVALID_COMMAND",
    });
    this.problems = problems;
  }

  override toJSON() {
    return { ...super.toJSON(), problems: this.problems };
  }
}

/** A node's response to a submitted transaction. */
export interface SubmissionResult {
  /** Whether the node found the transaction valid and placed it in the mempool. */
  readonly success: boolean;
  /** The identifier of the transaction in a node's event stream. */
  readonly txHash: string;
  /** The category of the failure; 0 if there is none. */
  readonly code: number;
  /** The reason of the failure, as received; often JSON. */
  readonly data: string;
  /** The message of the consensus layer. */
  readonly log: string;
  /** Unused. */
  readonly height: bigint;
}

/** The network refused a transaction. */
export class TransactionError extends TradewireError {
  /** The node's response. */
  readonly result: SubmissionResult;
  /** `result.data`, decoded if it is JSON. */
  readonly data: JsonValue;
  /**
   * The reasons in `result.data`: each field by its path in Protobuf's JSON, and what is wrong with it. The path is empty
   * if the node names no field.
   */
  readonly problems: readonly { readonly path: string; readonly message: string }[];
  /** The kind of refusal, which decides how to react. */
  readonly refusal: Refusal;
  /** Whether the node may have accepted an earlier submission of the same transaction. */
  readonly mayHaveBeenTaken: boolean;

  /**
   * @param result the node's response
   * @param known what the caller knows about the transaction
   */
  constructor(result: SubmissionResult, known: RefusedTransaction = {}) {
    const data = decodeData(result.data);
    const problems = readProblems(data);
    const refusal = refusalOf(result.code, problems);
    const said = [typeof data === "string" ? data : JSON.stringify(data), result.log].filter((text) => text !== "");
    const why = truncate(said.join("; "), MAX_MESSAGE).replace(/\p{Cc}+/gu, " "); // The summary is one line.
    super(`the network refused the transaction (code ${result.code})${why === "" ? "" : `: ${why}`}`, {
      code: Code.FailedPrecondition,
      advice: adviceFor(refusal, result.txHash, known),
      errorCode: "TW_TRANSACTION_REFUSED",
    });
    this.result = withJson(result);
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

/** The facts that the caller knows about a refused transaction. */
export interface RefusedTransaction {
  /** Whether this client asked the node to check it, which uses up its `tid`, and did not submit it. */
  readonly wasChecked?: boolean | undefined;
  /** Whether it was just signed and had never been sent before. */
  readonly isFirst?: boolean | undefined;
  /** Whether its input data starts with the chain's identifier. */
  readonly isPrefixed?: boolean | undefined;
}

/** The values that identify a transaction. */
export interface TransactionIdentity {
  /** Its identifier in a node's event stream: 64 hex digits in upper case. */
  readonly txHash: string;
  /** `tx.pow.tid`: the network accepts each value only once. */
  readonly tid: string;
  /** The sender. */
  readonly publicKey: string;
  /** `tx.signature.value`. */
  readonly signature: string;
  /** The kind of its command, such as `orderSubmission`; absent if its input data cannot be read. */
  readonly command?: string | undefined;
}

/** A transaction was sent, and no response says whether the node accepted it. */
export class OutcomeUnknownError extends TradewireError {
  readonly transaction: TransactionIdentity;
  /** The signed transaction, whose command names the parts that have outcomes. The error's JSON omits it. */
  readonly signed: Transaction | undefined;
  /** Whether the node said that it has the same transaction already: it accepted an earlier submission. */
  readonly isKnownToNode: boolean;

  /**
   * @param transaction the transaction's identity
   * @param cause the failure after it was sent
   * @param signed the signed transaction
   */
  constructor(transaction: TransactionIdentity, cause: TradewireError, signed?: Transaction) {
    const { tid, txHash } = transaction;
    const find = `Run \`tradewire outcome ${txHash}\` or call client.outcome(error) before you sign another transaction.`;
    const isKnownToNode = hasInCache(cause);
    super(
      isKnownToNode
        ? `the node already has the transaction ${txHash}; its outcome is unknown`
        : `${cause.summary}; it is unknown whether the node accepted the transaction ${tid}`,
      {
        code: cause.code,
        advice: isKnownToNode
          ? `An earlier submission was accepted, and this one was ignored. ${find}`
          : `${find} Resending this exact transaction is safe: the network accepts it at most once.`,
        details: cause.details,
        cause,
        errorCode: "TW_OUTCOME_UNKNOWN",
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

/** Returns whether a node refused a transaction because its cache has it: the node has accepted it before. */
function hasInCache({ code, details, summary }: TradewireError): boolean {
  const texts = [summary, ...details.map(({ message }) => message)];
  return code === Code.Internal && texts.some((said) => typeof said === "string" && said.includes(IN_CACHE));
}

/** CometBFT's text for a transaction that is in the cache of its mempool. */
const IN_CACHE = "tx already exists in cache";

/** Returns a result's data: decoded if it is a JSON object or array, otherwise the text. */
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

/** The maximum number of characters of a node's plain text that are searched for fields. */
const MAX_TEXT = 10_000;

/** Parses the reasons of a refusal: JSON by path, or text such as `order_submission.size (size is too large)`. */
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
  const fields = said.slice(0, MAX_TEXT).matchAll(/([\w.*[\]]+) \((.*?)\)(?=,\s*[\w.*[\]]+ \(|$)/g);
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
      return `The network already has this transaction, or another one with the same tid or nonce, and did not accept it again. ${look}`;
    case "seen":
      return wasChecked === true
        ? "This client asked the node to check the transaction, and until the next block the node refuses a tid that it has checked. Submit it after the next block, or sign the command again."
        : `An earlier submission may have been accepted, or the node has only checked the tid and refuses it until the next block. ${look}`;
    case "expired":
      if (isFirst === true) {
        return "The transaction will not be executed: its proof of work is for a block that the node does not know or that is too old. Sign the command again.";
      }
      return `The transaction can no longer be accepted: its proof of work is for a block that the node does not know or that is too old. An earlier submission may have been accepted. ${look}`;
    case "spam-unknown":
      return `The reason is unknown, so an earlier submission may have been accepted. ${look}`;
    case "spam":
      return "The transaction will not be executed: the key has reached a limit, or the proof of work is invalid. Fix the reason, then sign a new transaction.";
    case "profile":
      return isPrefixed === false
        ? "The node expects the chain ID in front of the input data. Use --profile specification (`profile` in the configuration), and sign again."
        : "The node expects the input data without the chain ID in front. Use --profile deployed (`profile` in the configuration), and sign again.";
    case "not-executable":
      return "The transaction will not be executed: the command is valid, but the network cannot execute it now. Check the market, the accounts and the balances that it needs.";
    case "invalid":
      return "The transaction will not be executed. Correct the problem, and sign a new transaction.";
  }
}

/**
 * Why the network refused a transaction. Each kind calls for a different reaction:
 *
 * - `duplicate`: the network has the same transaction, or one with its `tid` or nonce. An earlier submission was accepted.
 * - `seen`: the node has seen its `tid` before: it was submitted, only checked, or refused for a wrong proof of work.
 * - `expired`: the block that it is tied to is too old or unknown. The network no longer accepts it, but may have accepted
 *   an earlier submission.
 * - `spam`: it exceeds a spam limit. No part of it was accepted.
 * - `spam-unknown`: refused as spam for an unknown reason. An earlier submission may have been accepted.
 * - `profile`: the node expects input data in another form.
 * - `invalid`: the transaction or its command violates a rule. No part of it was accepted.
 * - `not-executable`: the command is valid, but the network cannot execute it now, for example without the funds.
 */
export type Refusal =
  | "duplicate"
  | "seen"
  | "expired"
  | "spam"
  | "spam-unknown"
  | "profile"
  | "invalid"
  | "not-executable";

/** The codes of refused transactions (core/blockchain/response.go of v0.78.0). */
const INVALID_CODE = 51;
const DECODING_CODE = 60;
const NOT_EXECUTABLE_CODE = 70;
const UNKNOWN_COMMAND_CODE = 80;
const SPAM_CODE = 89;
const REFUSALS: readonly number[] = [INVALID_CODE, DECODING_CODE, NOT_EXECUTABLE_CODE, UNKNOWN_COMMAND_CODE, SPAM_CODE];

/** A reason of a refusal: the path of a field in Protobuf's JSON, empty if no field is named, and what is wrong with it. */
interface Problem {
  readonly path: string;
  readonly message: string;
}

/**
 * The texts of code 89, from core/pow/engine.go, core/processor/abci.go and core/spam/ of v0.78.0. The paths are those of
 * nodes that report reasons by field.
 */
const SPAM_TEXTS: readonly { readonly refusal: Refusal; readonly path?: RegExp; readonly message: RegExp }[] = [
  {
    refusal: "duplicate",
    message: /^transaction hash already used|^delayed transaction already included|\bnonce already used\b/i,
  },
  { refusal: "duplicate", message: /\b(tid|transaction id) already used\b/i },
  { refusal: "seen", message: /\btid already seen\b/i },
  { refusal: "expired", message: /\btoo old\b|\bunknown block height\b/i },
  { refusal: "duplicate", path: /^tx\.(pow\.tid|inputData\.nonce)$/, message: /^was used/ },
  { refusal: "expired", path: /^tx\.inputData\.blockHeight$/, message: /not one of the blocks/ },
  { refusal: "spam", message: /^failed to verify proof of work/ },
  { refusal: "spam", message: /^party has insufficient associated governance tokens in their staking account/ },
  { refusal: "spam", message: /^party has already (submitted|voted) the maximum number/ },
  { refusal: "spam", path: /^tx\./, message: /^(is|must be) / },
];

/** The errors of a node that cannot read the input data, because the chain's identifier is, or is not, in front of it. */
const OTHER_FORM = /^couldn't unmarshall input data|^must not begin, as it is submitted|^has to begin with the chain's/;

/**
 * Returns whether a v0.78.0 node refuses transactions with a code. Any other code proves nothing: the node may have
 * accepted the transaction.
 */
export function isRefusalCode(code: number): boolean {
  return REFUSALS.includes(code);
}

function refusalOf(code: number, problems: readonly Problem[]): Refusal {
  if (code === SPAM_CODE) {
    const kinds = problems.map(
      (problem) =>
        SPAM_TEXTS.find(({ path, message }) => {
          const isPath = path === undefined ? problem.path === "" : path.test(problem.path);
          return isPath && message.test(problem.message);
        })?.refusal ?? "spam-unknown",
    );
    return kinds.find((kind) => kind !== "spam") ?? kinds[0] ?? "spam-unknown";
  }
  if (code === NOT_EXECUTABLE_CODE) {
    return "not-executable";
  }
  const isOtherForm = problems.some(({ path, message }) => path === "tx.inputData" && OTHER_FORM.test(message));
  // A prefix may happen to parse as fields. Then the node reports that the command is missing.
  const isWithoutCommand = problems.some(
    ({ path, message }) => path === "tx.inputData.command" && message === "is required",
  );
  return code === DECODING_CODE && (isOtherForm || isWithoutCommand) ? "profile" : "invalid";
}

/** Returns whether the network may have accepted an earlier submission of a refused transaction. */
function mayHaveBeenTaken(refusal: Refusal, isFirst: boolean): boolean {
  if (refusal === "expired" && isFirst) {
    return false;
  }
  return refusal === "duplicate" || refusal === "seen" || refusal === "expired" || refusal === "spam-unknown";
}
