import { NO_RESOURCE, requireFound } from "../api-error.js";
import { divideRounded, FIXED_POINT_DECIMALS } from "../engine/fixed-point.js";
import { riskFactorsOf } from "../engine/risk-factors.js";
import type { World } from "../world/world.js";
import { marketIdentifier } from "./market-methods.js";
import type { DataMethods } from "./method.js";

/** Implements the method for risk factors (datanode/api/trading_data_v2.go). */
export function riskMethods(world: World): DataMethods {
  return {
    async getRiskFactors({ marketId }) {
      const id = marketIdentifier(marketId);
      const market = requireFound(
        world.markets.get(id),
        "failed to get risk factor",
        `marketID: ${marketId}: ${NO_RESOURCE}`,
      );
      const { long, short } = riskFactorsOf(market);
      return { riskFactor: { market: id, long: factorText(long), short: factorText(short) } };
    },
  };
}

/** Formats a factor as the network's database does: with up to 16 decimals. */
function factorText(factor: bigint): string {
  const digits = String(divideRounded(factor, 10n ** BigInt(FIXED_POINT_DECIMALS - 16))).padStart(17, "0");
  return `${digits.slice(0, -16)}.${digits.slice(-16)}`.replace(/\.?0+$/, "");
}
