import type {
  FutureProduct,
  InstrumentConfiguration,
  PerpetualProduct,
  SpotProduct,
  UpdateFutureProduct,
  UpdateInstrumentConfiguration,
  UpdatePerpetualProduct,
} from "../../../../gen/vega/governance_pb.js";
import { compositePriceProblems, dataSourceProblems, hasProperty } from "./data-source.js";
import { compare, type Decimal, decimal, uint256, whole } from "./go-numbers.js";
import {
  type Field,
  from0To1,
  MESSAGE,
  type NetworkProblems,
  ONE,
  positiveOrZero,
  required,
  requiredDecimal,
} from "./network-rules.js";

const MINUS_ONE = whole(-1);

/**
 * Checks the instrument of a new market (`checkNewInstrument` in `commands/proposal_submission.go`).
 *
 * @param instrument the instrument
 * @param at its field
 * @param tickSize the market's tick size
 */
export function* newInstrumentProblems(
  instrument: InstrumentConfiguration | undefined,
  at: Field,
  tickSize: string,
): NetworkProblems {
  yield* instrumentProblems(instrument, at);
  const product = instrument?.product;
  switch (product?.case) {
    case "future":
      yield* newFutureProblems(product.value, productField(at, "future"), tickSize);
      break;
    case "perpetual": {
      const field = productField(at, "perpetual", "perps");
      yield* perpetualProblems(product.value, field, field, field);
      break;
    }
    case "spot":
      yield* spotProblems(product.value, productField(at, "spot"));
  }
}

/**
 * Checks the instrument of a changed market (`checkUpdateInstrument`).
 *
 * @param instrument the instrument
 * @param at its field
 * @param change the field of the proposed change, for names that the network does not take from the field
 */
export function* updatedInstrumentProblems(
  instrument: UpdateInstrumentConfiguration | undefined,
  at: Field,
  change: Field,
): NetworkProblems {
  yield* instrumentProblems(instrument, at);
  const product = instrument?.product;
  switch (product?.case) {
    case "future":
      yield* updatedFutureProblems(product.value, productField(at, "future"));
      break;
    case "perpetual": {
      const field = productField(at, "perpetual", "perps");
      const terms = `${change.property}.proposal_submission.terms.change`;
      yield* perpetualProblems(
        product.value,
        field,
        field.named(`${terms}.update_market.changes.instrument.product.future`),
        field.named(`${terms}.new_market.changes.instrument.product.perps`),
      );
    }
  }
}

/** Checks what new and changed instruments have in common. */
function* instrumentProblems(
  instrument: InstrumentConfiguration | UpdateInstrumentConfiguration | undefined,
  at: Field,
): NetworkProblems {
  if (instrument === undefined) {
    yield at.problem(MESSAGE.required);
    return;
  }
  yield* required(at.field("name"), instrument.name);
  yield* required(at.field("code"), instrument.code);
  if (instrument.product.case === undefined) {
    yield at.field("product").problem(MESSAGE.required);
  }
}

/** Returns a product's field, which the network takes for one in another. */
function productField(instrument: Field, name: string, property?: string): Field {
  return instrument.field(name).named(instrument.field("product").field(name, property).property);
}

function* newFutureProblems(future: FutureProduct, at: Field, tickSize: string): NetworkProblems {
  yield* required(at.field("settlementAsset"), future.settlementAsset);
  yield* required(at.field("quoteName"), future.quoteName);
  if (future.cap !== undefined) {
    yield* capProblems(future.cap.maxPrice, at.field("cap").field("maxPrice"), tickSize);
  }
  yield* futureSourceProblems(future, at);
}

function* capProblems(maxPrice: string, at: Field, tickSize: string): NetworkProblems {
  const tick = uint256(tickSize) || 1n;
  const price = uint256(maxPrice);
  if (maxPrice === "") {
    yield at.problem(MESSAGE.required);
  } else if (price === undefined || price === 0n) {
    yield at.problem(MESSAGE.positive);
  } else if (price % tick !== 0n) {
    yield at.problem("must respect tick size");
  }
}

function* updatedFutureProblems(future: UpdateFutureProduct, at: Field): NetworkProblems {
  yield* required(at.field("quoteName"), future.quoteName);
  yield* futureSourceProblems(future, at);
}

function* futureSourceProblems(future: UpdateFutureProduct | FutureProduct, at: Field): NetworkProblems {
  const {
    dataSourceSpecForSettlementData: settlement,
    dataSourceSpecForTradingTermination: termination,
    dataSourceSpecBinding: binding,
  } = future;
  yield* dataSourceProblems(settlement, at.field("dataSourceSpecForSettlementData"), {
    settles: true,
    isOfFuture: true,
  });
  yield* dataSourceProblems(termination, at.field("dataSourceSpecForTradingTermination"), {
    settles: false,
    isOfFuture: true,
  });
  const bound = at.field("dataSourceSpecBinding");
  yield* settlementProblems(binding, bound, settlement);
  if (binding === undefined) {
    return;
  }
  const { tradingTerminationProperty } = binding;
  yield* bindingProblems(
    tradingTerminationProperty,
    bound.field("tradingTerminationProperty"),
    // A new future may end at a time, which has no property; of a changed one the network wants that, too.
    () =>
      (future.$typeName === "vega.FutureProduct" &&
        termination !== undefined &&
        termination.sourceType.case !== "external") ||
      hasProperty(termination, tradingTerminationProperty),
  );
}

/** Checks that a product's binding names a property of its settlement data. */
function* settlementProblems(
  binding: { readonly settlementDataProperty: string } | undefined,
  at: Field,
  settlement: Parameters<typeof hasProperty>[0],
): NetworkProblems {
  if (binding === undefined) {
    yield at.problem(MESSAGE.required);
    return;
  }
  const { settlementDataProperty } = binding;
  yield* bindingProblems(settlementDataProperty, at.field("settlementDataProperty"), () =>
    hasProperty(settlement, settlementDataProperty),
  );
}

function* bindingProblems(property: string, at: Field, isBound: () => boolean): NetworkProblems {
  if (property === "") {
    yield at.problem(MESSAGE.required);
  } else if (!isBound()) {
    yield at.problem(MESSAGE.mismatching);
  }
}

/** Checks a perpetual, new or changed. The network has names of their own for the sources of a changed one. */
function* perpetualProblems(
  perpetual: PerpetualProduct | UpdatePerpetualProduct,
  at: Field,
  data: Field,
  schedule: Field,
): NetworkProblems {
  if (perpetual.$typeName === "vega.PerpetualProduct") {
    yield* required(at.field("settlementAsset"), perpetual.settlementAsset);
  }
  yield* required(at.field("quoteName"), perpetual.quoteName);
  yield* requiredDecimal(at.field("marginFundingFactor"), perpetual.marginFundingFactor, from0To1);
  yield* requiredDecimal(at.field("interestRate"), perpetual.interestRate, fromMinus1To1);
  yield* clampProblems(perpetual, at);
  yield* fundingRateProblems(perpetual, at);
  const { dataSourceSpecForSettlementData: settlement, dataSourceSpecBinding: binding } = perpetual;
  const settlementField = at
    .field("dataSourceSpecForSettlementData")
    .named(data.field("dataSourceSpecForSettlementData").property);
  const isOfFuture = data.property.endsWith(".future");
  yield* dataSourceProblems(settlement, settlementField, { settles: true, isOfFuture });
  const scheduleField = at
    .field("dataSourceSpecForSettlementSchedule")
    .named(schedule.field("dataSourceSpecForSettlementSchedule").property);
  yield* dataSourceProblems(perpetual.dataSourceSpecForSettlementSchedule, scheduleField, {
    settles: true,
    isOfFuture: false,
  });
  yield* settlementProblems(binding, at.field("dataSourceSpecBinding"), settlement);
  if (perpetual.internalCompositePriceConfiguration !== undefined) {
    const config = at.field("internalCompositePriceConfiguration");
    yield* compositePriceProblems(perpetual.internalCompositePriceConfiguration, config);
  }
}

function fromMinus1To1(value: Decimal): string | undefined {
  return compare(value, MINUS_ONE) < 0 || compare(value, ONE) > 0 ? "must be between -1 and 1" : undefined;
}

function* clampProblems(
  { clampLowerBound, clampUpperBound }: PerpetualProduct | UpdatePerpetualProduct,
  at: Field,
): NetworkProblems {
  yield* requiredDecimal(at.field("clampLowerBound"), clampLowerBound, fromMinus1To1);
  yield* requiredDecimal(at.field("clampUpperBound"), clampUpperBound, (upper) => {
    const lower = decimal(clampLowerBound);
    const isBelow = lower !== undefined && fromMinus1To1(lower) === undefined && compare(upper, lower) < 0;
    return fromMinus1To1(upper) ?? (isBelow ? "must be greater than or equal to clamp lower bound" : undefined);
  });
}

function* fundingRateProblems(perpetual: PerpetualProduct | UpdatePerpetualProduct, at: Field): NetworkProblems {
  const { fundingRateScalingFactor: factor, fundingRateLowerBound, fundingRateUpperBound } = perpetual;
  const scaling = factor === undefined ? undefined : decimal(factor);
  if (factor !== undefined && scaling === undefined) {
    yield at.field("fundingRateScalingFactor").problem(MESSAGE.notANumber);
  }
  const negative = scaling === undefined ? undefined : positiveOrZero(scaling);
  if (negative !== undefined) {
    yield at.field("fundingRateScalingFactor").problem(negative);
  }
  const bounds = { fundingRateLowerBound, fundingRateUpperBound } as const;
  for (const name of ["fundingRateLowerBound", "fundingRateUpperBound"] as const) {
    const bound = bounds[name];
    if (bound !== undefined && decimal(bound) === undefined) {
      yield at.field(name).problem(MESSAGE.notANumber);
    }
  }
  if (fundingRateLowerBound !== undefined && fundingRateUpperBound !== undefined) {
    // A bound that is no number counts as 0.
    const [lower, upper] = [decimal(fundingRateLowerBound) ?? whole(0), decimal(fundingRateUpperBound) ?? whole(0)];
    if (compare(lower, upper) > 0) {
      yield at.field("fundingRateLowerBound").problem(MESSAGE.notValid);
    }
  }
}

function* spotProblems({ baseAsset, quoteAsset }: SpotProduct, at: Field): NetworkProblems {
  // The network names a spot product as that of a spot market, whatever market it is proposed for.
  const named = at.named(at.property.replace(/\bnew_market\b/, "new_spot_market"));
  yield* required(named.field("baseAsset"), baseAsset);
  yield* required(named.field("quoteAsset"), quoteAsset);
  if (baseAsset === quoteAsset) {
    yield named.field("quoteAsset").problem(MESSAGE.notValid);
  }
}
