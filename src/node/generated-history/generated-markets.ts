import { create } from "@bufbuild/protobuf";
import { type Asset, Asset_Status, AssetSchema } from "../../../gen/vega/assets_pb.js";
import {
  CompositePriceType,
  type Market,
  Market_State,
  Market_TradingMode,
  MarketSchema,
} from "../../../gen/vega/markets_pb.js";
import {
  assetId,
  blockTime,
  COUNT,
  decimal,
  freeText,
  hashOf,
  marketId,
  once,
  pick,
  settlementAsset,
} from "./seeded-values.js";

/** State and trading mode of a market, by its number. They never change. */
export const marketState = (market: number): Market_State =>
  pick([Market_State.ACTIVE, Market_State.PENDING, Market_State.SUSPENDED, Market_State.SETTLED], market);
export const tradingMode = (market: number): Market_TradingMode =>
  pick(
    [
      Market_TradingMode.CONTINUOUS,
      Market_TradingMode.OPENING_AUCTION,
      Market_TradingMode.MONITORING_AUCTION,
      Market_TradingMode.NO_TRADING,
    ],
    market,
  );

/** Returns whether a market has resting orders: it is active and trades continuously. */
export const hasBook = (market: number): boolean => tradingMode(market) === Market_TradingMode.CONTINUOUS;

const INSTRUMENTS = ["BTC/USD", "ETH/USD", "SOL/USD", "DOGE/USD"] as const;

export function generatedMarket(number: number): Market {
  const market = made.get(number % COUNT.market) ?? marketOf(number % COUNT.market);
  made.set(number % COUNT.market, market);
  return market;
}

const made = new Map<number, Market>();

function marketOf(number: number): Market {
  const instrument = pick(INSTRUMENTS, number);
  return create(MarketSchema, {
    id: marketId(number),
    tradableInstrument: {
      instrument: {
        id: instrument,
        code: `M${number}`,
        name: `${instrument} future, the "M${number}"`,
        metadata: { tags: ["class:fx", 'quote:"USD"', `note:${freeText(number)}`, freeText(number + COUNT.market)] },
        product: { case: "future", value: { settlementAsset: assetId(settlementAsset(number)), quoteName: "USD" } },
      },
      marginCalculator: { scalingFactors: { searchLevel: 1.1, initialMargin: 1.5, collateralRelease: 1.7 } },
      riskModel: {
        case: "simpleRiskModel",
        value: { params: { factorLong: 0.1, factorShort: 0.1, maxMoveUp: 1e-7 * (number + 1), minMoveDown: -0.5 } },
      },
    },
    decimalPlaces: BigInt(1 + (number % 5)),
    fees: {
      factors: {
        makerFee: "0.0002",
        infrastructureFee: "0.0005",
        liquidityFee: "0.001",
        treasuryFee: "0",
        buyBackFee: "0",
      },
    },
    openingAuction: { duration: 300n, volume: BigInt(number % 9) },
    priceMonitoringSettings: {
      parameters: { triggers: [{ horizon: 4320n, probability: "0.99", auctionExtension: 300n }] },
    },
    liquidityMonitoringParameters: { targetStakeParameters: { timeWindow: 3600n, scalingFactor: 10 } },
    tradingMode: tradingMode(number),
    state: marketState(number),
    marketTimestamps: { proposed: blockTime(1n), pending: blockTime(1n), open: blockTime(1n) },
    positionDecimalPlaces: BigInt(number % 4),
    lpPriceRange: decimal(5 + 7 * number, 2),
    linearSlippageFactor: decimal(1 + number, 3),
    quadraticSlippageFactor: "0",
    ...(number % 3 === 0 && { parentMarketId: marketId(number + 1), insurancePoolFraction: decimal(10 + number, 2) }),
    liquiditySlaParams: {
      priceRange: "0.05",
      commitmentMinTimeFraction: "0.75",
      performanceHysteresisEpochs: 1n,
      slaCompetitionFactor: "0.8",
    },
    liquidationStrategy: {
      disposalTimeStep: 10n,
      disposalFraction: "0.1",
      fullDisposalSize: 20n,
      maxFractionConsumed: "0.05",
      disposalSlippageRange: "0.1",
    },
    markPriceConfiguration: { compositePriceType: CompositePriceType.LAST_TRADE },
    tickSize: "1",
    enableTransactionReordering: number % 2 === 0,
  });
}

const ASSETS: readonly {
  readonly id?: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: bigint;
  /** Quantum in units of the last decimal, worth about one US dollar. */
  readonly quantum: string;
}[] = [
  { name: "Tether USD", symbol: "USDT", decimals: 6n, quantum: "1000000" },
  { name: "USD Coin", symbol: "USDC", decimals: 6n, quantum: "1000000" },
  { name: "Dai Stablecoin", symbol: "DAI", decimals: 18n, quantum: "1000000000000000000" },
  { name: "Wrapped BTC", symbol: "WBTC", decimals: 8n, quantum: "3500" },
  { name: "Wrapped Ether", symbol: "WETH", decimals: 18n, quantum: "600000000000000" },
  {
    id: "d1984e3d365faa05bcafbe41f50f90e3663ee7c0da22bb1e24b164e9532691b2",
    name: "VEGA (local)",
    symbol: "VEGA",
    decimals: 18n,
    quantum: "1000000000000000000",
  },
];

/** Returns a price of a market in the decimals of its asset, which has more. */
export function priceInAsset(market: string, price: string): string {
  return String(BigInt(price) * (assetFactors().get(market) ?? 1n));
}

const assetFactors = once(
  () =>
    new Map(
      Array.from({ length: COUNT.market }, (_, number) => {
        const { id, decimalPlaces } = generatedMarket(number);
        return [id, 10n ** ((ASSETS[settlementAsset(number)]?.decimals ?? 0n) - decimalPlaces)];
      }),
    ),
);

export function generatedAssets(): Asset[] {
  return ASSETS.map(({ id, ...details }, number) =>
    create(AssetSchema, {
      id: id ?? assetId(number),
      status: Asset_Status.ENABLED,
      details: {
        ...details,
        source: {
          case: "erc20",
          value: {
            contractAddress: `0x${hashOf(`contract:${number}`).slice(0, 40)}`,
            chainId: "1",
            lifetimeLimit: "0",
            withdrawThreshold: "1",
          },
        },
      },
    }),
  );
}
