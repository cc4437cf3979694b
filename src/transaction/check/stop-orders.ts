import { StopOrder_ExpiryStrategy, StopOrder_SizeOverrideSetting } from "../../../gen/client/vega/vega_pb.js";
import type {
  StopOrderSetup,
  StopOrdersCancellation,
  StopOrdersSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import { orderProblems, orderProblemsButSize } from "./order.js";
import {
  betweenZeroAndOne,
  fieldProblems,
  identifier,
  known,
  optional,
  type Problem,
  positiveDecimal,
  positiveWhole,
} from "./problem.js";

/**
 * Check the submission of stop orders (specification, 2.4).
 *
 * @param submission the command
 * @param at its path, with which the paths of the problems begin
 * @returns the problems
 */
export function* stopOrdersProblems(submission: StopOrdersSubmission, at: string): Generator<Problem> {
  const { risesAbove, fallsBelow } = submission;
  if (risesAbove === undefined && fallsBelow === undefined) {
    yield { path: at, message: "holds neither risesAbove nor fallsBelow, and needs one of them at least" };
  }
  if (risesAbove !== undefined) {
    yield* setupProblems(risesAbove, `${at}.risesAbove`);
  }
  if (fallsBelow !== undefined) {
    yield* setupProblems(fallsBelow, `${at}.fallsBelow`);
  }
  if (risesAbove !== undefined && fallsBelow !== undefined) {
    for (const [half, { expiryStrategy }] of Object.entries({ risesAbove, fallsBelow })) {
      if (expiryStrategy === StopOrder_ExpiryStrategy.SUBMIT) {
        const message = "is EXPIRY_STRATEGY_SUBMIT, which a pair cannot have";
        yield { path: `${at}.${half}.expiryStrategy`, message };
      }
    }
  }
  const market = risesAbove?.orderSubmission?.marketId;
  const otherMarket = fallsBelow?.orderSubmission?.marketId;
  if (market !== undefined && otherMarket !== undefined && market !== otherMarket) {
    yield { path: `${at}.fallsBelow.orderSubmission.marketId`, message: "is another market than that of risesAbove" };
  }
}

/**
 * Check the cancellation of stop orders.
 *
 * @param cancellation the command
 * @param at its path, with which the paths of the problems begin
 * @returns the problems
 */
export function stopOrdersCancellationProblems(cancellation: StopOrdersCancellation, at: string): Iterable<Problem> {
  return fieldProblems(cancellation, { marketId: optional(identifier), stopOrderId: optional(identifier) }, at);
}

function* setupProblems(setup: StopOrderSetup, at: string): Generator<Problem> {
  const { orderSubmission, trigger, expiresAt, expiryStrategy, sizeOverrideSetting, sizeOverrideValue } = setup;
  const wrong = (field: string, message: string): Problem => ({ path: `${at}.${field}`, message });
  const fromPosition = sizeOverrideSetting === StopOrder_SizeOverrideSetting.POSITION;
  if (orderSubmission === undefined) {
    yield wrong("orderSubmission", "is required");
  } else {
    yield* (fromPosition ? orderProblemsButSize : orderProblems)(orderSubmission, `${at}.orderSubmission`);
  }
  if (trigger.case === undefined) {
    yield wrong("price", "is required, or else trailingPercentOffset");
  } else {
    const message = (trigger.case === "price" ? positiveWhole : betweenZeroAndOne)(trigger.value);
    if (message !== undefined) {
      yield wrong(trigger.case, message);
    }
  }
  const strategies = { expiryStrategy: known(StopOrder_ExpiryStrategy) };
  yield* fieldProblems(setup, { ...strategies, sizeOverrideSetting: known(StopOrder_SizeOverrideSetting) }, at);
  if (expiresAt !== undefined) {
    if (expiresAt <= 0n) {
      yield wrong("expiresAt", `is ${expiresAt}, not a time in Unix nanoseconds`);
    }
    if ((expiryStrategy ?? StopOrder_ExpiryStrategy.UNSPECIFIED) === StopOrder_ExpiryStrategy.UNSPECIFIED) {
      yield wrong("expiryStrategy", "is required where expiresAt is set");
    }
  }
  if (fromPosition && sizeOverrideValue === undefined) {
    yield wrong("sizeOverrideValue", "is required with SIZE_OVERRIDE_SETTING_POSITION");
  }
  if (sizeOverrideValue !== undefined) {
    if (!fromPosition) {
      yield wrong("sizeOverrideValue", "may be set only with SIZE_OVERRIDE_SETTING_POSITION");
    }
    yield* fieldProblems(sizeOverrideValue, { percentage: positiveDecimal }, `${at}.sizeOverrideValue`);
  }
}
