import { asset, marketOf } from "./exchange.js";

/** The market of the recorded orders: 5 decimals, as its asset has, and a log-normal model. */
export const recordedMarket = marketOf({
  decimalPlaces: 5n,
  linearSlippageFactor: "0.001",
  fees: {
    factors: {
      makerFee: "0.0002",
      infrastructureFee: "0.0005",
      liquidityFee: "0",
      treasuryFee: "0.0001",
      buyBackFee: "0.0001",
    },
  },
  tradableInstrument: {
    instrument: { product: { case: "future", value: { settlementAsset: asset } } },
    marginCalculator: { scalingFactors: { searchLevel: 1.1, initialMargin: 1.5, collateralRelease: 1.7 } },
    riskModel: {
      case: "logNormalRiskModel",
      value: { riskAversionParameter: 0.01, tau: 1.90128526884173e-6, params: { mu: 0, r: 0.016, sigma: 3 } },
    },
  },
});
