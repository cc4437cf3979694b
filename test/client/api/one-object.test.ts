import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "@jest/globals";

/** An entry of the built package, where the duplicates were. */
const load = (name: string): Promise<Record<string, unknown>> =>
  import(pathToFileURL(resolve(`dist/src/${name}.js`)).href);
const root = await load("index");
const api = await load("client/api/index");

const isModule = (value: unknown): value is Record<string, unknown> =>
  Object.prototype.toString.call(value) === "[object Module]";

test.each([
  "index",
  ...["data/archive", "data/csv", "trade/transaction", "wire/transport", "node", "sync"].map(
    (module) => `${module}/index`,
  ),
])("what %s and tradewire/api both export under one name is one object", async (name) => {
  const namespaces = [api, ...Object.values(api).filter(isModule)];
  const twice = Object.entries(await load(name)).flatMap(([exported, value]) =>
    typeof value === "object" && namespaces.some((each) => exported in each && each[exported] !== value)
      ? [exported]
      : [],
  );
  expect(twice).toEqual([]);
});

test("enums are compared with the same object, wherever they are imported from", () => {
  expect(root).toHaveProperty("Side.BUY", 1);
  expect(isModule(api["vega"]) && api["vega"]["Side"] === root["Side"]).toBe(true);
});

test("the only TradingDataService has all methods", () => {
  expect(root).not.toHaveProperty("TradingDataService");
  expect(api).toHaveProperty("TradingDataService.methods.length", 128);
});
