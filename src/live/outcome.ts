import type { InputData } from "../../gen/vega/commands/v1/transaction_pb.js";
import type { TransactionResult } from "../../gen/vega/events/v1/events_pb.js";

/** What became of a transaction. Nothing of it is guessed: what could not be found out is `unknown`. */
export type Outcome = ExecutedOutcome | FailedOutcome | UnknownOutcome;

interface KnownOutcome {
  /** 64 hex digits in upper case. */
  readonly txHash: string;
  /** The height of the block that carried it out; `undefined` where it is known by its order alone, or no block took it. */
  readonly block: bigint | undefined;
  /**
   * What became of each part of a batch, or of each stop order of a pair. A command of one part has one. There are none
   * where the node does not say which of them failed.
   */
  readonly parts: readonly OutcomePart[];
}

/** All of the command was carried out. */
export interface ExecutedOutcome extends KnownOutcome {
  readonly status: "executed";
}

/** Nothing of the command was carried out; of a batch, some parts may have been: `partial`. */
export interface FailedOutcome extends KnownOutcome {
  readonly status: "failed" | "partial";
  /** Why, as the network says it. */
  readonly reason: string;
}

/** What became of it could not be found out. */
export interface UnknownOutcome {
  readonly status: "unknown";
  readonly txHash: string;
  /** Why it is not known. */
  readonly reason: string;
  /** What was looked at, and what was there. */
  readonly lookedAt: readonly Trace[];
}

/** A part of a command. */
export interface OutcomePart {
  /** The field of the command that holds it, such as `submissions[1]` of a batch, or `risesAbove` of a pair. */
  readonly path: string;
  readonly status: "executed" | "failed";
  /** Why it failed; `undefined` where it did not. */
  readonly reason: string | undefined;
  /** The identifier of the order or stop order that it brings, 64 hex digits; `undefined` for other parts. */
  readonly id: string | undefined;
}

/** Something that may tell of a transaction. */
export interface Trace {
  readonly place: "events" | "order" | "stop order" | "spam statistics" | "last block";
  /** What was found there, for people. */
  readonly found: string;
}

/** A part of a command before it is known what became of it. */
export type CommandPart = Pick<OutcomePart, "path" | "id">;

/** The command of a transaction's result, or of its input data. */
export type SentCommandValue = TransactionResult["transaction"] | InputData["command"];

/** Gives the identifiers that the orders of a transaction get, one after the other; `undefined` where they are not known. */
export type NextId = () => string | undefined;

/**
 * List the parts of a command in the order in which the network carries them out, and counts them in its errors.
 *
 * @param command the command
 * @param nextId gives the identifiers of its orders
 * @returns the parts; a command that is neither a batch nor a submission of stop orders is one part, with an empty path
 */
export function commandParts(command: SentCommandValue, nextId: NextId): CommandPart[] {
  const plain = (path: string, list: readonly unknown[]): CommandPart[] =>
    list.map((_, index) => ({ path: `${path}[${index}]`, id: undefined }));
  switch (command.case) {
    case "batchMarketInstructions": {
      const { updateMarginMode, cancellations, amendments, submissions, stopOrdersCancellation, stopOrdersSubmission } =
        command.value;
      return [
        ...plain("updateMarginMode", updateMarginMode),
        ...plain("cancellations", cancellations),
        ...plain("amendments", amendments),
        ...submissions.map((_, index) => ({ path: `submissions[${index}]`, id: nextId() })),
        ...plain("stopOrdersCancellation", stopOrdersCancellation),
        ...stopOrdersSubmission.map((pair, index) => {
          const [first] = halvesOf(pair).map(nextId);
          return { path: `stopOrdersSubmission[${index}]`, id: first };
        }),
      ];
    }
    case "stopOrdersSubmission":
      return halvesOf(command.value).map((path) => ({ path, id: nextId() }));
    case "orderSubmission":
      return [{ path: "", id: nextId() }];
    default:
      return [{ path: "", id: undefined }];
  }
}

/**
 * Read what became of a transaction out of its result.
 *
 * @param result the result, as the node tells it
 * @param block the height of its block
 * @param txHash 64 hex digits
 * @param nextId gives the identifiers of the transaction's orders
 * @returns the outcome; `undefined` where the result has no status that is known
 */
export function outcomeOfResult(
  result: TransactionResult,
  block: bigint,
  txHash: string,
  nextId: NextId,
): ExecutedOutcome | FailedOutcome | undefined {
  const status = statusOf(result);
  if (status === undefined) {
    return undefined;
  }
  const parts = commandParts(result.transaction, nextId);
  const known = { txHash: txHash.toUpperCase(), block };
  if (status === "executed") {
    return { ...known, status, parts: parts.map((part) => ({ ...part, status, reason: undefined })) };
  }
  const { error = "", errors = [] } = result.extra.case === "failure" ? result.extra.value : {};
  const ofPart = new Map(errors.map(({ key, errors: texts }) => [key, texts.join(", ")]));
  const said = [...ofPart].map(([key, text]) => (key === "" ? text : `${key}: ${text}`)).join("; ");
  const reason = error || said || "the node gives no reason";
  if (status === "partial" && parts.length > 1 && !parts.some((_, index) => ofPart.has(String(index)))) {
    return { ...known, status, reason, parts: [] };
  }
  return {
    ...known,
    status,
    reason,
    // The errors of a batch have the number of their part. Without such errors, none of it was carried out.
    parts: parts.map((part, index) => {
      const own = parts.length > 1 ? ofPart.get(String(index)) : reason;
      return own === undefined && status === "partial"
        ? { ...part, status: "executed" as const, reason: undefined }
        : { ...part, status: "failed" as const, reason: own ?? reason };
    }),
  };
}

/** The values of `TransactionResult.Status`, whose definitions are those of the whole interface. */
const STATUS: readonly ("none" | "executed" | "partial" | "failed")[] = ["none", "executed", "partial", "failed"];

/**
 * Whether it was carried out. Older nodes give the boolean alone, which is true for a part, too. What contradicts itself
 * says nothing.
 */
function statusOf({ statusDetail, status, extra }: TransactionResult): "executed" | "failed" | "partial" | undefined {
  const said = STATUS[statusDetail];
  switch (said) {
    case "none":
      return status ? (extra.case === "failure" ? "partial" : "executed") : "failed";
    case "executed":
      return status ? said : undefined;
    case "failed":
      return status ? undefined : said;
    default:
      return said;
  }
}

function halvesOf({ risesAbove, fallsBelow }: { readonly risesAbove?: unknown; readonly fallsBelow?: unknown }) {
  return [...(risesAbove === undefined ? [] : ["risesAbove"]), ...(fallsBelow === undefined ? [] : ["fallsBelow"])];
}
