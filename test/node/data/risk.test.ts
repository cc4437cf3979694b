import { readFileSync } from "node:fs";
import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import {
  GetMarketResponseSchema,
  GetRiskFactorsResponseSchema,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { historyOf, id } from "../living-world.js";
import { serveData } from "./data-service.js";

// The recorded market of the network, and its risk factors.
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

test("risk factors are those that the network answered, with 16 decimals", async () => {
  const { data } = serveData(historyOf({ start: { markets: market === undefined ? [] : [market] } }));
  const { request, answer } = recorded("getRiskFactors");
  const marketId = String(request["marketId"]);
  const { riskFactor } = await data.getRiskFactors({ marketId });
  const wanted = fromJson(GetRiskFactorsResponseSchema, answer).riskFactor;
  // The network's own rounding shows from the 14th decimal on.
  expect(Number(riskFactor?.long)).toBeCloseTo(Number(wanted?.long), 13);
  expect(Number(riskFactor?.short)).toBeCloseTo(Number(wanted?.short), 13);
  expect(riskFactor?.long).toMatch(/^0\.\d{1,16}$/);
});
