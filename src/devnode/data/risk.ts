import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type {
  EstimateFeeRequest,
  EstimateMarginRequest,
  EstimatePositionRequest,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import {
  type Fee,
  type MarginLevels,
  MarginLevelsSchema,
  MarginMode,
  Order_Type,
  Side,
} from "../../../gen/vega/vega_pb.js";
import { apiError, existing, invalidArgument, NO_RESOURCE } from "../api-error.js";
import { divideRounded } from "../engine/decimal.js";
import { feesOf } from "../engine/fees.js";
import { FACTOR_DECIMALS, riskFactorsOf } from "../engine/risk-factors.js";
import { marketState } from "../engine/start.js";
import type { World } from "../world/world.js";
import { boundsOf } from "./amm-bounds.js";
import { canBeIdentifier, identifier, NO_IDENTIFIER, type Query, queryError } from "./conditions.js";
import { marketIdentifier } from "./markets.js";
import type { DataMethods } from "./method.js";
import { estimatedPosition, type MarketFigures, whole } from "./position-estimate.js";

const FEE: Query = { message: "failed to estimate fee" };
const MARGIN: Query = { message: "failed to estimate margin" };

/** The discounts of an estimate that is of no party. */
const WITHOUT_PARTY = {
  makerFeeVolumeDiscount: "",
  infrastructureFeeVolumeDiscount: "",
  liquidityFeeVolumeDiscount: "",
  makerFeeReferrerDiscount: "",
  infrastructureFeeReferrerDiscount: "",
  liquidityFeeReferrerDiscount: "",
};

/**
 * Implements the methods for risk factors and for estimates that follow from them (datanode/api/trading_data_v2.go). Positions
 * are estimated in cross-margin mode alone, without funding payments and the caps of futures.
 *
 * @param world how things stand
 * @returns the methods of the data service
 */
export function riskMethods(world: World): DataMethods {
  return {
    async getRiskFactors({ marketId }) {
      const id = marketIdentifier(marketId);
      const market = existing(
        world.markets.get(id),
        "failed to get risk factor",
        `marketID: ${marketId}: ${NO_RESOURCE}`,
      );
      const { long, short } = riskFactorsOf(market);
      return { riskFactor: { market: id, long: factorText(long), short: factorText(short) } };
    },

    estimateFee: async (request) => ({ fee: estimatedFee(world, request) }),
    estimateMargin: async (request) => ({ marginLevels: estimatedMargin(world, request) }),
    estimatePosition: async (request) => positionOf(world, request),

    async estimateAMMBounds(request) {
      const { marketId, upperPrice, lowerPrice } = request;
      if (marketId === "") {
        throw invalidArgument("empty or missing market ID");
      }
      if (upperPrice === undefined && lowerPrice === undefined) {
        throw invalidArgument("invalid lower price");
      }
      const figures = marketFigures(world, marketId, { message: "invalid market ID" });
      const minimum = Number(world.parameters.get("market.amm.minCommitmentQuantum") ?? "0");
      return boundsOf(figures, request, minimum);
    },
  };
}

/** A factor as the network's database has it: with 16 decimals. */
function factorText(factor: bigint): string {
  const digits = String(divideRounded(factor, 10n ** BigInt(FACTOR_DECIMALS - 16))).padStart(17, "0");
  return `${digits.slice(0, -16)}.${digits.slice(-16)}`.replace(/\.?0+$/, "");
}

function estimatedFee(world: World, { marketId, price, size, party }: EstimateFeeRequest): Fee {
  const id = identifier(marketId, "empty or missing market ID", "invalid market ID");
  if (price === "") {
    throw invalidArgument("missing price");
  }
  const market = world.markets.get(id);
  if (market === undefined) {
    throw queryError(FEE, NO_RESOURCE, Code.NotFound);
  }
  if (!/^0*[1-9]\d*$/.test(price)) {
    throw queryError(FEE, "invalid order price", Code.InvalidArgument);
  }
  if (size === 0n) {
    throw queryError(FEE, "invalid order size", Code.InvalidArgument);
  }
  const state = marketState({ assets: [...world.assets.values()], lastPrices: new Map() }, market);
  const fees = { ...feesOf(state, { price: BigInt(price), size }), highVolumeMakerFee: "" };
  return party === undefined ? { ...fees, ...WITHOUT_PARTY } : fees;
}

function estimatedMargin(world: World, request: EstimateMarginRequest): MarginLevels {
  const { marketId, partyId, side, type, price, size } = request;
  if (side === Side.UNSPECIFIED) {
    throw queryError(MARGIN, "invalid order side", Code.InvalidArgument);
  }
  const figures = marketFigures(world, marketId, MARGIN);
  if (type === Order_Type.LIMIT && !/^[+-]?\d+(\.\d*)?$/.test(price)) {
    throw queryError(MARGIN, `parsing limit price: ${price}: can't convert ${price} to decimal`);
  }
  const ofOrder = Math.trunc(Number(type === Order_Type.LIMIT ? price : (figures.data?.markPrice ?? 0)));
  if (ofOrder <= 0) {
    throw queryError(MARGIN, "invalid order price", Code.InvalidArgument);
  }
  if (size === 0n) {
    throw queryError(MARGIN, "invalid order size", Code.InvalidArgument);
  }
  const factor = side === Side.BUY ? figures.long : figures.short;
  const maintenance = (Number(size) * factor * Math.floor(ofOrder * figures.priceFactor)) / figures.positionFactor;
  return levelsOf(figures, maintenance, partyId);
}

/** Margin levels that follow from the maintenance margin. */
function levelsOf({ market, asset, scaling }: MarketFigures, maintenance: number, partyId = ""): MarginLevels {
  const { searchLevel = 0, initialMargin = 0, collateralRelease = 0 } = scaling ?? {};
  return create(MarginLevelsSchema, {
    ...{ partyId, marketId: market.id, asset, marginMode: MarginMode.CROSS_MARGIN },
    maintenanceMargin: whole(maintenance),
    searchLevel: whole(maintenance * searchLevel),
    initialMargin: whole(maintenance * initialMargin),
    collateralReleaseLevel: whole(maintenance * collateralRelease),
  });
}

function positionOf(world: World, request: EstimatePositionRequest) {
  if (request.marketId === "") {
    throw new ConnectError("empty or missing market ID", Code.Unknown);
  }
  const balances = [request.marginAccountBalance, request.orderMarginAccountBalance];
  const isCross = request.marginMode === MarginMode.CROSS_MARGIN;
  for (const balance of isCross ? [...balances, request.generalAccountBalance] : balances) {
    if (!/^[+-]?\d+(\.\d*)?$/.test(balance)) {
      throw apiError(Code.InvalidArgument, "invalid account balance", `can't convert ${balance} to decimal`);
    }
  }
  const figures = marketFigures(world, request.marketId, { message: "failed to get market for ID" });
  if (!isCross) {
    throw new ConnectError("the local node estimates positions in cross-margin mode alone", Code.Unimplemented);
  }
  const { maintenance, liquidation } = estimatedPosition(figures, request);
  const margin = { worstCase: levelsOf(figures, maintenance.worst), bestCase: levelsOf(figures, maintenance.best) };
  const held = balances.reduce((sum, balance) => sum + Number(balance), 0);
  const increase = ({ initialMargin, collateralReleaseLevel }: MarginLevels) => {
    const lacking = Number(initialMargin) - held;
    return whole(lacking > 0 || held > Number(collateralReleaseLevel) ? lacking : 0);
  };
  return {
    margin,
    collateralIncreaseEstimate: { worstCase: increase(margin.worstCase), bestCase: increase(margin.bestCase) },
    liquidation,
  };
}

/** The figures of a market that estimates are computed from. */
function marketFigures(world: World, marketId: string, query: Query): MarketFigures {
  if (!canBeIdentifier(marketId)) {
    throw queryError(query, NO_IDENTIFIER, Code.InvalidArgument);
  }
  const market = world.markets.get(marketId.toLowerCase());
  if (market === undefined) {
    throw queryError(query, NO_RESOURCE, Code.NotFound);
  }
  const { asset, priceExponent } = marketState({ assets: [...world.assets.values()], lastPrices: new Map() }, market);
  const { long, short } = riskFactorsOf(market);
  return {
    ...{ market, asset, data: world.marketData.get(market.id) },
    quantum: Number(world.assets.get(asset)?.details?.quantum ?? "1"),
    scaling: market.tradableInstrument?.marginCalculator?.scalingFactors,
    priceFactor: 10 ** priceExponent,
    positionFactor: 10 ** Number(market.positionDecimalPlaces),
    slippage: Number(market.linearSlippageFactor),
    quadraticSlippage: Number(market.quadraticSlippageFactor),
    ...{ long: Number(factorText(long)), short: Number(factorText(short)) },
  };
}
