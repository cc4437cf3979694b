import type { StopOrdersSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { TradewireError } from "../../base/errors/index.js";
import { isNotFound } from "../../base/errors/not-found.js";
import { requireIdentifier } from "../live/events-request.js";
import { parseDecimal } from "../market/decimal.js";
import type { UnitsOfMarkets } from "../market/market-units.js";
import type { MarketLimits, MarketRules } from "./guard-state.js";
import type { MarketPolicy, Policy } from "./policy.js";

/** The rules of the markets that a policy names, in units. */
export interface PolicyMarkets {
  /**
   * Loads the units of the markets that the policy names.
   *
   * @throws {@link NodeError} if the node does not know one of them
   */
  loadNamed(signal: AbortSignal): Promise<void>;
  /**
   * Finds the rules of the markets of a command. The units of those that `*` allows are loaded when they are first needed.
   */
  rulesFor(command: InputData["command"], signal: AbortSignal): Promise<ReadonlyMap<string, MarketRules>>;
}

export function createPolicyMarkets(policy: Policy, marketUnits: UnitsOfMarkets["marketUnits"]): PolicyMarkets {
  const loaded = new Map<string, MarketLimits>();

  /**
   * The network knows identifiers in lower case only. A node that knows others must not get an order past a market's
   * own rules.
   */
  const policyOf = (marketId: string): MarketPolicy | undefined => {
    const rules = Object.hasOwn(policy.markets, marketId) ? policy.markets[marketId] : policy.markets["*"];
    return marketId === marketId.toLowerCase() ? rules : undefined;
  };

  async function load(marketId: string, rules: MarketPolicy, signal: AbortSignal): Promise<MarketLimits> {
    const known = loaded.get(marketId);
    if (known !== undefined) {
      return known;
    }
    const { price, size } = await marketUnits(requireIdentifier(marketId, "marketId"), { signal });
    const limits = limitsIn(rules, price.decimals, size.decimals);
    loaded.set(marketId, limits);
    return limits;
  }

  return {
    async loadNamed(signal) {
      for (const [marketId, rules] of Object.entries(policy.markets)) {
        if (marketId !== "*") {
          await load(marketId, rules, signal);
        }
      }
    },
    async rulesFor(command, signal) {
      const found = new Map<string, MarketRules>();
      for (const marketId of marketsOf(command)) {
        const rules = policyOf(marketId);
        if (rules !== undefined) {
          found.set(marketId, await load(marketId, rules, signal).then(knownRules, unknownRules));
        }
      }
      return found;
    },
  };
}

const knownRules = (limits: MarketLimits): MarketRules => ({ kind: "known", limits });

function unknownRules(reason: unknown): MarketRules {
  if (isNotFound(reason)) {
    return { kind: "missing" };
  }
  return { kind: "unknown", why: reason instanceof TradewireError ? reason.summary : "loading it failed" };
}

function limitsIn(rules: MarketPolicy, priceDecimals: number, sizeDecimals: number): MarketLimits {
  const { maxSize, maxNotional, maxPosition, maxDistance } = rules;
  return {
    priceDecimals,
    sizeDecimals,
    maxSize: floorDecimal(maxSize, sizeDecimals),
    maxNotional: floorDecimal(maxNotional, priceDecimals + sizeDecimals),
    maxPosition: floorDecimal(maxPosition, sizeDecimals),
    maxDistance: maxDistance === undefined ? undefined : fractionOf(maxDistance),
  };
}

/** A limit that lies between two units is the lower one. */
function floorDecimal(text: string, decimals: number): bigint {
  const fraction = text.split(".")[1] ?? "";
  const exact = parseDecimal(text, fraction.length);
  const shift = decimals - fraction.length;
  return shift >= 0 ? exact * 10n ** BigInt(shift) : exact / 10n ** BigInt(-shift);
}

function fractionOf(text: string): readonly [bigint, bigint] {
  const digits = (text.split(".")[1] ?? "").length;
  return [parseDecimal(text, digits), 10n ** BigInt(digits)];
}

/** The markets whose rules a command needs. */
function marketsOf(command: InputData["command"]): ReadonlySet<string> {
  const ofStops = ({ risesAbove, fallsBelow }: StopOrdersSubmission) =>
    [risesAbove, fallsBelow].flatMap((setup) =>
      setup?.orderSubmission === undefined ? [] : [setup.orderSubmission.marketId],
    );
  switch (command.case) {
    case "orderSubmission":
    case "orderAmendment":
      return new Set([command.value.marketId]);
    case "stopOrdersSubmission":
      return new Set(ofStops(command.value));
    case "batchMarketInstructions": {
      const { amendments, submissions, stopOrdersSubmission } = command.value;
      const direct = [...amendments, ...submissions].map(({ marketId }) => marketId);
      return new Set([...direct, ...stopOrdersSubmission.flatMap(ofStops)]);
    }
    default:
      return new Set();
  }
}
