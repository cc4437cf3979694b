import { readFileSync } from "node:fs";
import { create, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import {
  EstimateAMMBoundsResponseSchema,
  EstimateFeeRequestSchema,
  EstimateFeeResponseSchema,
  EstimateMarginRequestSchema,
  EstimateMarginResponseSchema,
  EstimatePositionRequestSchema,
  EstimatePositionResponseSchema,
  GetAssetResponseSchema,
  GetLatestMarketDataResponseSchema,
  GetMarketResponseSchema,
  GetRiskFactorsResponseSchema,
  OrderInfoSchema,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { ErrorDetailSchema, MarginMode, Side } from "tradewire/gen/vega/vega_pb.js";
import { historyOf, id } from "../living-world.js";
import { serveData } from "./data-service.js";

// The recorded market, asset and market data of the network, and what it estimated of them.
interface LatestEvent {
  readonly name: string;
  readonly request: JsonObject;
  readonly answer?: JsonObject;
}
const { cases }: { cases: readonly LatestEvent[] } = JSON.parse(
  readFileSync("test/network/recorded/listings.json", "utf8"),
);
const names = new Map([
  ["MARKET", id(1)],
  ["ASSET", id(2)],
  ["PARTY", id(3)],
]);
const filled = (value: JsonValue | undefined): JsonObject =>
  JSON.parse(JSON.stringify(value ?? {}).replaceAll(/\$([A-Z]+)/g, (_, name) => names.get(name) ?? id(9)));
const recorded = (name: string) => {
  const found = cases.find((each) => each.name === `${name}, base`);
  return { request: filled(found?.request), answer: filled(found?.answer) };
};

const { market } = fromJson(GetMarketResponseSchema, recorded("getMarket").answer);
const { asset } = fromJson(GetAssetResponseSchema, recorded("getAsset").answer);
const { marketData } = fromJson(GetLatestMarketDataResponseSchema, recorded("getLatestMarketData").answer);

function serve(parameters: ReadonlyMap<string, string> = new Map()) {
  const start = {
    markets: market === undefined ? [] : [market],
    assets: asset === undefined ? [] : [asset],
    marketData: marketData === undefined ? [] : [marketData],
    parameters,
  };
  return serveData(historyOf({ start })).data;
}

async function reasonOf(call: Promise<unknown>) {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => ConnectError.from(reason),
  );
  const [detail] = error?.findDetails(ErrorDetailSchema) ?? [];
  return [error?.code, detail?.message, detail?.inner];
}

describe("what the network answered for the recorded market", () => {
  const data = serve();
  test("risk factors, with 16 decimals", async () => {
    const { request, answer } = recorded("getRiskFactors");
    const marketId = String(request["marketId"]);
    const { riskFactor } = await data.getRiskFactors({ marketId });
    const wanted = fromJson(GetRiskFactorsResponseSchema, answer).riskFactor;
    // The network's own rounding shows from the 14th decimal on.
    expect(Number(riskFactor?.long)).toBeCloseTo(Number(wanted?.long), 13);
    expect(Number(riskFactor?.short)).toBeCloseTo(Number(wanted?.short), 13);
    expect(riskFactor?.long).toMatch(/^0\.\d{1,16}$/);
  });

  test("the fees of an order", async () => {
    const { request, answer } = recorded("estimateFee");
    const asked = fromJson(EstimateFeeRequestSchema, request);
    expect(toJson(EstimateFeeResponseSchema, await data.estimateFee(asked))).toEqual(answer);
    // Of a party, the discounts come too.
    expect(await data.estimateFee({ ...asked, party: id(3) })).toMatchObject({
      fee: { makerFee: "3996000", makerFeeVolumeDiscount: "0", liquidityFeeReferrerDiscount: "0" },
    });
    for (const [wrong, message, inner] of [
      [{ price: "0" }, "failed to estimate fee", "invalid order price"],
      [{ price: "x" }, "failed to estimate fee", "invalid order price"],
      [{ size: 0n }, "failed to estimate fee", "invalid order size"],
      [{ price: "" }, "missing price", ""],
    ] as const) {
      expect(await reasonOf(data.estimateFee({ ...asked, ...wrong }))).toEqual([Code.InvalidArgument, message, inner]);
    }
  });

  test("the margin of an order", async () => {
    const { request, answer } = recorded("estimateMargin");
    const asked = fromJson(EstimateMarginRequestSchema, request);
    expect(toJson(EstimateMarginResponseSchema, await data.estimateMargin(asked))).toEqual(answer);
    const failed = "failed to estimate margin";
    expect(await reasonOf(data.estimateMargin({ ...asked, size: 0n }))).toEqual([3, failed, "invalid order size"]);
    expect(await reasonOf(data.estimateMargin({ ...asked, price: "x" }))).toEqual([
      ...[Code.Internal, failed, "parsing limit price: x: can't convert x to decimal"],
    ]);
  });

  test("the margin and the liquidation prices of a position in cross-margin mode", async () => {
    const { request, answer } = recorded("estimatePosition");
    const asked = fromJson(EstimatePositionRequestSchema, request);
    expect(toJson(EstimatePositionResponseSchema, await data.estimatePosition(asked))).toEqual(answer);
    expect(await reasonOf(data.estimatePosition({ ...asked, marginAccountBalance: "" }))).toEqual([
      ...[Code.InvalidArgument, "invalid account balance", "can't convert  to decimal"],
    ]);
    const isolated = { ...asked, marginMode: MarginMode.ISOLATED_MARGIN, marginFactor: "0.1" };
    await expect(data.estimatePosition(isolated)).rejects.toMatchObject({ code: Code.Unimplemented });
  });
});

// `core/risk/liquidation_calculation.go`: of a short position of 20 at a mark price of 10100000000, with 1e11 of collateral,
// (1e11 + 20 * 10100000000) / (20 * risk factor + 20) without slippage.
test("a short position is closed out above the mark price, and at it if the collateral is below the margin", async () => {
  const { request } = recorded("estimatePosition");
  const asked = { ...fromJson(EstimatePositionRequestSchema, request), openVolume: -20n, orders: [] };
  const data = serve();
  const rich = await data.estimatePosition({ ...asked, generalAccountBalance: "100000000000" });
  const closeOut = (1e11 + 20 * 10_100_000_000) / (20 * 0.0110781464960028 + 20);
  expect(rich.liquidation?.bestCase?.openVolumeOnly).toBe(String(Math.round(closeOut)));
  const poor = await data.estimatePosition({ ...asked, generalAccountBalance: "5" });
  expect(poor.liquidation?.bestCase?.openVolumeOnly).toBe("10100000000");
  const order = { side: Side.SELL, price: "10200000000", remaining: 5n, isMarketOrder: false };
  const selling = [create(OrderInfoSchema, order)];
  const offering = await data.estimatePosition({ ...asked, orders: selling, generalAccountBalance: "100000000000" });
  expect(Number(offering.liquidation?.bestCase?.includingSellOrders)).toBeLessThan(closeOut);
  expect(offering.liquidation?.bestCase?.includingBuyOrders).toBe(String(Math.round(closeOut)));
});

describe("the bounds of an automated market maker", () => {
  const curve = { marketId: id(1), basePrice: "10000000000" };
  const bounds = async (request: JsonObject, data = serve()) => {
    const answer = await data.estimateAMMBounds({ ...curve, commitmentAmount: "1000000000000", ...request });
    return toJson(EstimateAMMBoundsResponseSchema, answer);
  };

  // Answers of the network for a market with the recorded one's parameters.
  test("are those that the network estimates", async () => {
    const both = { lowerPrice: "9000000000", upperPrice: "11000000000" };
    const leverage = { leverageAtUpperPrice: "1", leverageAtLowerPrice: "1" };
    expect(await bounds({ ...both, ...leverage, commitmentAmount: "100000000000" })).toEqual({
      ...{ positionSizeAtUpper: "-8", positionSizeAtLower: "10" },
      ...{ lossOnCommitmentAtUpper: "4446798583", lossOnCommitmentAtLower: "5131670194" },
      ...{ liquidationPriceAtUpper: "21737451871", liquidationPriceAtLower: "0" },
      ammError: "AMM_ERROR_BOTH_BOUNDS_TOO_WIDE",
    });
    const more = { ...both, leverageAtUpperPrice: "1", leverageAtLowerPrice: "2", commitmentAmount: "10000000000000" };
    expect(await bounds(more)).toEqual({
      ...{ positionSizeAtUpper: "-868", positionSizeAtLower: "2005" },
      ...{ lossOnCommitmentAtUpper: "444679858323", lossOnCommitmentAtLower: "976236786770" },
      ...{ liquidationPriceAtUpper: "21737451871", liquidationPriceAtLower: "4554527028" },
      ammError: "AMM_ERROR_BOTH_BOUNDS_TOO_WIDE",
    });
    expect(await bounds({ lowerPrice: "9000000000" })).toEqual({
      ...{ positionSizeAtUpper: "0", positionSizeAtLower: "1" },
      ...{ lossOnCommitmentAtUpper: "0", lossOnCommitmentAtLower: "598886351" },
      ...{ liquidationPriceAtUpper: "0", liquidationPriceAtLower: "0" },
      ammError: "AMM_ERROR_LOWER_BOUND_TOO_WIDE",
    });
  });

  test("are not estimated for what no curve can be", async () => {
    const data = serve();
    for (const [wrong, ...reason] of [
      [{ marketId: "" }, 3, "empty or missing market ID", ""],
      [{}, 3, "invalid lower price", ""],
      [{ marketId: "zz", lowerPrice: "1" }, 3, "invalid market ID", "not a valid hex id (or well known exception)"],
      [{ marketId: id(9), lowerPrice: "1" }, 5, "invalid market ID", "no resource corresponding to this id"],
      [{ lowerPrice: "1", basePrice: "-1" }, 3, "invalid base price", ""],
      [{ lowerPrice: "9", commitmentAmount: "x" }, 3, "invalid commitment amount", ""],
      [{ lowerPrice: "90000000000" }, 3, "invalid lower price", ""],
      [{ upperPrice: "9000" }, 3, "invalid upper price", ""],
      [
        { lowerPrice: "9", leverageAtLowerPrice: "x" },
        3,
        "invalid leverage at lower price",
        "can't convert x to decimal",
      ],
    ] as const) {
      const request = { ...curve, commitmentAmount: "1000000000000", ...wrong };
      expect(await reasonOf(data.estimateAMMBounds(request))).toEqual(reason);
    }
    const parameters = new Map([["market.amm.minCommitmentQuantum", "2000000000000"]]);
    expect(await bounds({ lowerPrice: "9000000000" }, serve(parameters))).toMatchObject({
      ammError: "AMM_ERROR_COMMITMENT_BELOW_MINIMUM",
    });
  });
});
