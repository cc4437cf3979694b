/** The names of a part of a batch in errors. */
export interface BatchPart {
  /** The field of the batch that holds it, such as `submissions[1]`. */
  readonly path: string;
  /** The key by which the network names its errors. Both halves of a pair of stop orders have one. */
  readonly errorKey: string;
  /** Its market as the command names it; `undefined` if it names none. */
  readonly marketId?: string | undefined;
}

/** The key of the errors of all margin modes of a batch. */
export const MARGIN_MODE_KEY = "updateMarginMode";
/** The field of a batch whose parts are counted separately: their keys are also keys of other parts. */
export const STOP_CANCELLATIONS = "stopOrdersCancellation";

/** An error that may belong to this part or to another one. */
export const UNCLEAR = Symbol("unclear");
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
export function failuresOf(
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

/** Adds the errors of one key to the parts that it names. */
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
