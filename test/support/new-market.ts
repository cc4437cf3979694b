import type { CommandInit } from "tradewire";

/** A data source of a market: the values that a party signs. */
const source = (party: string, name: string, type: number) => ({
  sourceType: {
    case: "external" as const,
    value: {
      sourceType: {
        case: "oracle" as const,
        value: {
          signers: [{ signer: { case: "pubKey" as const, value: { key: party } } }],
          filters: [{ key: { name, type, ...(type === 2 && { numberDecimalPlaces: 5n }) }, conditions: [] }],
        },
      },
    },
  },
});

/** Creates a proposal of a market that is settled by the data of a party. */
export function newMarket(
  party: string,
  { settlementAsset, closingTimestamp }: { readonly settlementAsset: string; readonly closingTimestamp: bigint },
): CommandInit {
  const changes = {
    instrument: {
      name: "BTC",
      code: "BTC",
      product: {
        case: "future" as const,
        value: {
          settlementAsset,
          quoteName: "BTC",
          dataSourceSpecForSettlementData: source(party, "price.BTC.value", 2),
          dataSourceSpecForTradingTermination: source(party, "trading.terminated", 4),
          dataSourceSpecBinding: {
            settlementDataProperty: "price.BTC.value",
            tradingTerminationProperty: "trading.terminated",
          },
        },
      },
    },
    decimalPlaces: 5n,
    metadata: ["base:BTC"],
    liquidityMonitoringParameters: {
      targetStakeParameters: { timeWindow: 3600n, scalingFactor: 1 },
      triggeringRatio: "0.7",
    },
    priceMonitoringParameters: { triggers: [{ horizon: 86400n, probability: "0.999999", auctionExtension: 5n }] },
    riskParameters: {
      case: "logNormal" as const,
      value: { riskAversionParameter: 0.01, tau: 1.90128526884173e-6, params: { mu: 0, r: 0.016, sigma: 3 } },
    },
    linearSlippageFactor: "0.001",
    quadraticSlippageFactor: "0",
    liquiditySlaParameters: {
      priceRange: "1",
      commitmentMinTimeFraction: "0.95",
      performanceHysteresisEpochs: 1n,
      slaCompetitionFactor: "1",
    },
    liquidationStrategy: {
      disposalTimeStep: 1n,
      disposalFraction: "1",
      fullDisposalSize: 1000000000n,
      maxFractionConsumed: "0.5",
      disposalSlippageRange: "0.5",
    },
    markPriceConfiguration: { compositePriceType: 3 },
    tickSize: "1",
    enableTransactionReordering: true,
  };
  return {
    case: "proposalSubmission",
    value: {
      reference: "a market",
      rationale: { title: "a market", description: "a market" },
      terms: {
        closingTimestamp,
        enactmentTimestamp: closingTimestamp + 3n,
        change: { case: "newMarket", value: { changes } },
      },
    },
  };
}
