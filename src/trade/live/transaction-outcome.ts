import type { StopOrdersCancellation, StopOrdersSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import type { TransactionResult } from "../../../gen/vega/events/v1/events_pb.js";
import {
  commandIdentifiers,
  STOP_ORDER_HALVES,
  type StopOrderIdentifiers,
} from "../transaction/command-identifiers.js";
import type { SubmittedStopOrder } from "./stop-order-content.js";

/** The outcome of a transaction. It is observed, never inferred: an outcome that could not be observed is `unknown`. */
export type Outcome = ExecutedOutcome | FailedOutcome | UnknownOutcome;

interface KnownOutcome {
  /** 64 hex digits in upper case. */
  readonly txHash: string;
  /** The height of the block that contains it; `undefined` if only records show it, or if no block is known to. */
  readonly block: bigint | undefined;
  /**
   * The evidence for the outcome:
   *
   * - `result`: the network's result for the transaction.
   * - `records`: records of it that the data node stores, such as its order.
   * - `blocks`: every block that could have contained it was observed, and none did.
   * - `absence`: the data node has every block that could have contained it, or the one that does, and stores no record of it.
   */
  readonly evidence: "result" | "records" | "blocks" | "absence";
  /**
   * The outcome of each part of a batch, or of each stop order of a pair. Other commands have one part. Parts are
   * missing if the node does not say whether they failed.
   */
  readonly parts: readonly OutcomePart[];
}

/** The complete command was executed. */
export interface ExecutedOutcome extends KnownOutcome {
  readonly status: "executed";
}

/** Nothing of the command was executed (`failed`), or only some parts of it (`partial`). */
export interface FailedOutcome extends KnownOutcome {
  readonly status: "failed" | "partial";
  /** Why, in the words of the network or of its records; otherwise in those of this library. They depend on the evidence. */
  readonly reason: string;
}

/** The outcome could not be observed. */
export interface UnknownOutcome {
  readonly status: "unknown";
  readonly txHash: string;
  /** Why it is unknown. */
  readonly reason: string;
  /** The places that were searched, and what was found there. */
  readonly lookedAt: readonly Trace[];
}

/** A part of a command. */
export interface OutcomePart {
  /**
   * The field of the command that holds it, such as `submissions[1]` of a batch, or `risesAbove` of stop orders; empty if the part
   * is the command itself.
   */
  readonly path: string;
  readonly status: "executed" | "failed";
  /** Why it failed; `undefined` if it did not. */
  readonly reason: string | undefined;
  /** The kind of record that it creates, if that has an identifier; `undefined` for other parts, such as a cancellation. */
  readonly brings: Brought | undefined;
  /**
   * The identifier of the record that it creates, 64 hex digits; `undefined` for other parts, or without the signature. Only
   * `brings` and `id` together are unique: in a batch, the last order and the first stop order have the same identifier (v0.78.0,
   * `ProcessBatch` in core/processor/batch_market_instructions_processor.go).
   */
  readonly id: string | undefined;
}

/** A kind of record with its own identifier that a command creates. */
export type Brought = "order" | "stop order" | "transfer" | "withdrawal" | "proposal";

/** A place that was searched for a transaction. */
export interface Trace {
  readonly place: "events" | "records" | Brought | "spam statistics" | "last block" | "data node";
  /** A description of what was found there. */
  readonly found: string;
}

interface BatchPart {
  /** The field of the batch that holds it, such as `submissions[1]`. */
  readonly path: string;
  /** The key by which the network names its errors. Both halves of a pair of stop orders have one. */
  readonly errorKey: string;
  /** Its market as the command names it; `undefined` if it names none. */
  readonly marketId?: string | undefined;
}

/** A part of a command before its outcome is known. */
export interface CommandPart extends BatchPart, Pick<OutcomePart, "path" | "id" | "brings"> {
  /** The stop order that it submits; `undefined` for other parts. */
  readonly stopOrder?: SubmittedStopOrder | undefined;
  /** The identifier of the stop order that it cancels, in lower case; `undefined` for other parts, and if it cancels several. */
  readonly cancelsStopOrder?: string | undefined;
  /** The identifier of the order that it amends, in lower case; `undefined` for other parts. */
  readonly amendsOrder?: string | undefined;
}

/** The command of a transaction's result, or of its input data. */
export type SentCommandValue = TransactionResult["transaction"] | InputData["command"];

/** Lists the parts of a command in the order in which the network executes them. */
export function commandParts(command: SentCommandValue, signature: Uint8Array | undefined): readonly CommandPart[] {
  const ids = signature && commandIdentifiers(command, signature);
  switch (command.case) {
    case "batchMarketInstructions":
      return batchParts(command.value, ids);
    case "stopOrdersSubmission":
      return stopOrderParts(command.value, "", "", ids?.stopOrders[0]);
    case "stopOrdersCancellation":
      return [{ path: "", id: undefined, brings: undefined, errorKey: "", ...cancelledBy(command.value) }];
    default: {
      const brings = broughtBy(command.case);
      const marketId = command.case === "orderSubmission" ? command.value.marketId : undefined;
      const amendsOrder = command.case === "orderAmendment" ? command.value.orderId.toLowerCase() : undefined;
      return [{ path: "", id: brings && ids?.submissions[0], brings, errorKey: "", marketId, amendsOrder }];
    }
  }
}

export function broughtBy(command: string | undefined): Brought | undefined {
  switch (command) {
    case "orderSubmission":
      return "order";
    case "transfer":
      return "transfer";
    case "withdrawSubmission":
      return "withdrawal";
    case "proposalSubmission":
    case "batchProposalSubmission":
    case "proposal": // These two are the names in the network's results.
    case "batchProposal":
      return "proposal";
    default:
      return undefined;
  }
}

function batchParts(
  batch: Extract<SentCommandValue, { readonly case: "batchMarketInstructions" }>["value"],
  ids: ReturnType<typeof commandIdentifiers> | undefined,
): readonly CommandPart[] {
  const { updateMarginMode, cancellations, amendments, submissions, stopOrdersCancellation, stopOrdersSubmission } =
    batch;
  const partsOf = (
    name: string,
    list: readonly { readonly marketId?: string | undefined }[],
    keyAt: (index: number) => string,
  ): readonly CommandPart[] =>
    list.map(({ marketId }, index) => {
      const orderId = name === "submissions" ? ids?.submissions[index] : undefined;
      const brings = name === "submissions" ? "order" : undefined;
      return { path: `${name}[${index}]`, id: orderId, brings, errorKey: keyAt(index), marketId };
    });
  const keysFrom = (first: number) => (index: number) => String(first + index);
  const beforeStopOrders = cancellations.length + amendments.length + submissions.length;
  const stopOrderKey = keysFrom(beforeStopOrders + stopOrdersCancellation.length);
  // v0.78.0, `ProcessBatch` in core/processor/batch_market_instructions_processor.go: `i` and `idx` are keys.
  return [
    ...partsOf("updateMarginMode", updateMarginMode, () => MARGIN_MODE_KEY),
    ...partsOf("cancellations", cancellations, keysFrom(0)),
    ...partsOf("amendments", amendments, keysFrom(cancellations.length)).map((part, index) => ({
      ...part,
      amendsOrder: amendments[index]?.orderId.toLowerCase(),
    })),
    ...partsOf("submissions", submissions, keysFrom(cancellations.length + amendments.length)),
    ...partsOf(STOP_CANCELLATIONS, stopOrdersCancellation, keysFrom(0)).map((part, index) => ({
      ...part,
      ...cancelledBy(stopOrdersCancellation[index]),
    })),
    ...stopOrdersSubmission.flatMap((pair, index) =>
      stopOrderParts(pair, `stopOrdersSubmission[${index}].`, stopOrderKey(index), ids?.stopOrders[index]),
    ),
  ];
}

function cancelledBy(cancellation: StopOrdersCancellation | undefined): Pick<CommandPart, "cancelsStopOrder"> {
  const id = cancellation?.stopOrderId?.toLowerCase();
  return id ? { cancelsStopOrder: id } : {};
}

function stopOrderParts(
  pair: StopOrdersSubmission,
  prefix: string,
  errorKey: string,
  ids: StopOrderIdentifiers | undefined,
): readonly CommandPart[] {
  return STOP_ORDER_HALVES.flatMap((half): CommandPart[] => {
    const setup = pair[half];
    return setup === undefined
      ? []
      : [
          {
            path: `${prefix}${half}`,
            id: ids?.[half],
            brings: "stop order",
            errorKey,
            marketId: setup.orderSubmission?.marketId,
            stopOrder: { half, setup },
          },
        ];
  });
}

export function outcomeOfResult(
  result: TransactionResult,
  block: bigint,
  txHash: string,
  parts: readonly CommandPart[],
): ExecutedOutcome | FailedOutcome | undefined {
  const status = statusOf(result);
  if (status === undefined) {
    return undefined;
  }
  const known = { txHash: txHash.toUpperCase(), block, evidence: "result" as const };
  if (status === "executed") {
    return { ...known, status, parts: parts.map((part) => partOutcome(part, undefined)) };
  }
  const { error = "", errors = [] } = result.extra.case === "failure" ? result.extra.value : {};
  const said = errors.map(({ key, errors: texts }) => (key === "" ? texts.join(", ") : `${key}: ${texts.join(", ")}`));
  const reason = error || said.join("; ") || "the node reports no reason";
  if (result.transaction.case !== "batchMarketInstructions") {
    return { ...known, status, reason, parts: parts.map((part) => partOutcome(part, reason)) };
  }
  const failures = failuresOf(parts, errors);
  const isUnnamed = status === "partial" && failures.size === 0;
  return {
    ...known,
    status,
    reason,
    parts: isUnnamed ? [] : parts.flatMap((part) => partOfBatch(part, failures.get(part), status, reason)),
  };
}

/** Makes the outcome of a part of a batch; none if it is not clear. */
function partOfBatch(
  part: CommandPart,
  failure: string | typeof UNCLEAR | undefined,
  status: "failed" | "partial",
  reason: string,
): readonly OutcomePart[] {
  if (status === "failed") {
    return [partOutcome(part, typeof failure === "string" ? failure : reason)];
  }
  return failure === UNCLEAR ? [] : [partOutcome(part, failure)];
}

export function partOutcome(
  part: Pick<CommandPart, "brings" | "id" | "path">,
  reason: string | undefined,
): OutcomePart {
  const { path, brings, id } = part;
  return { path, brings, id, status: reason === undefined ? "executed" : "failed", reason };
}

/** The values of `TransactionResult.Status`, whose definitions are those of the whole interface. */
const STATUS: readonly ("none" | "executed" | "partial" | "failed")[] = ["none", "executed", "partial", "failed"];

/**
 * Whether it was executed. Older nodes send only the boolean, which is also true for partial success. What contradicts itself
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

/** The key of the errors of all margin modes of a batch. */
const MARGIN_MODE_KEY = "updateMarginMode";
/** The field of a batch whose parts are counted separately: their keys are also keys of other parts. */
const STOP_CANCELLATIONS = "stopOrdersCancellation";

/** An error that may belong to this part or to another one. */
const UNCLEAR = Symbol("unclear");
/** The error of all instructions of a market whose margin mode could not be changed (v0.78.0, `ProcessBatch`). */
const MARKET_FAILED = /^Update margin mode transaction failed for market (\w+)\./;
/** The errors of only stop order cancellations (v0.78.0, core/execution/stoporders/common.go and commands/). */
const STOP_CANCELLATION_FAILED = /^stop order not found$|stop_orders_cancellation/;
/** The errors that it shares with other instructions (v0.78.0, core/execution/engine.go, and common/errors.go). */
const ANY_FAILED = /^trading not allowed$|^OrderError: Invalid Market ID$|^market id required when order id specified$/;

type Failures = Map<BatchPart, string | typeof UNCLEAR>;

/**
 * Finds the parts of a batch that failed. Cancellations of stop orders are counted separately, so a key can belong to
 * one of them and to another part.
 */
function failuresOf(
  parts: readonly BatchPart[],
  errors: readonly { readonly key: string; readonly errors: readonly string[] }[],
): ReadonlyMap<BatchPart, string | typeof UNCLEAR> {
  const failures: Failures = new Map();
  const failedMarkets = new Map(
    errors.flatMap((each) => each.errors).map((text) => [MARKET_FAILED.exec(text)?.[1], text] as const),
  );
  for (const part of parts) {
    const text = part.marketId === undefined ? undefined : failedMarkets.get(part.marketId);
    if (text !== undefined && part.errorKey !== MARGIN_MODE_KEY) {
      failures.set(part, text);
    }
  }
  for (const { key, errors: all } of errors) {
    const named = parts.filter((part) => part.errorKey === key && !failures.has(part));
    const texts = all.filter((text) => !MARKET_FAILED.test(text));
    if (texts.length > 0) {
      addFailures(failures, named, texts);
    }
  }
  return failures;
}

function addFailures(failures: Failures, named: readonly BatchPart[], texts: readonly string[]): void {
  const [text = ""] = texts;
  const isCancellation = ({ path }: BatchPart) => path.startsWith(STOP_CANCELLATIONS);
  const isShared = named.some(isCancellation) && !named.every(isCancellation);
  const isMode = named.some(({ errorKey }) => errorKey === MARGIN_MODE_KEY);
  if (!isShared && !isMode) {
    for (const part of named) {
      failures.set(part, texts.join(", "));
    }
  } else if (texts.length === named.length) {
    for (const [index, part] of named.entries()) {
      failures.set(part, texts[index] ?? "");
    }
  } else {
    const isUnclear = isMode || texts.length > 1 || ANY_FAILED.test(text);
    for (const part of named) {
      if (isUnclear) {
        failures.set(part, UNCLEAR);
      } else if (isCancellation(part) === STOP_CANCELLATION_FAILED.test(text)) {
        failures.set(part, text);
      }
    }
  }
}
