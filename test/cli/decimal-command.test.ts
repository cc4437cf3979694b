// Prices and sizes are counted in the decimals of their market, amounts in those of their asset (v0.78.0,
// `decimal_places` and `position_decimal_places` of vega/markets.proto, `decimals` of vega/assets.proto). Triggers of stop orders
// need no whole tick (v0.78.0, `SubmitStopOrders` in core/execution/future/market.go checks the ticks of the orders alone).
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "@jest/globals";
import { createClient, type MarketUnits } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { run } from "../support/command.js";
import { seed } from "../support/transactions.js";

let node: Devnode;
let folder: string;
let keyFile: string;
let units: MarketUnits;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  folder = await mkdtemp(join(tmpdir(), "tradewire-decimals-"));
  keyFile = join(folder, "key");
  await writeFile(keyFile, `${seed}\n`, { mode: 0o600 });
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  units = await client.marketUnits("M10");
});
beforeEach(async () => {
  await node.makeBlock(); // Each block serves only so many transactions of a key.
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

async function withFile(name: "sign" | "submit", content: string, ...options: string[]) {
  const path = join(folder, "command.json");
  await writeFile(path, content);
  return await run([name, path, ...options, "--grpc-url", node.grpcUrl]);
}
const withCommand = (name: "sign" | "submit", command: object, ...options: string[]) =>
  withFile(name, JSON.stringify(command), "--key-file", keyFile, ...options);

/** The command that `sign` writes into a transaction, in Protobuf's JSON, without the block and the nonce. */
async function signed(command: object) {
  const { code, out, err } = await withCommand("sign", command);
  if (code !== 0) {
    return err;
  }
  const bytes = Buffer.from(JSON.parse(out).tx.inputData, "base64");
  const content = bytes.subarray(bytes.indexOf(0) + 1); // The chain's ID is in front.
  const { blockHeight: _, nonce: __, ...rest } = Object(toJson(InputDataSchema, fromBinary(InputDataSchema, content)));
  return rest;
}

const order = { size: "3", side: "BUY", timeInForce: "GTC", type: "LIMIT" };
const enums = { side: "SIDE_BUY", timeInForce: "TIME_IN_FORCE_GTC", type: "TYPE_LIMIT" };
const id = "0d".repeat(32);
const accounts = { fromAccountType: "GENERAL", toAccountType: "GENERAL" };
const transfer = { ...accounts, to: "ab".repeat(32), oneOff: {} };

describe("a command in decimals is converted exactly", () => {
  it("in orders, whatever names the market", async () => {
    const price = units.price.format("267472");
    const size = units.size.format(30n);
    const expected = { orderSubmission: { marketId: units.marketId, price: "267472", size: "30", ...enums } };
    for (const market of ["M10", units.marketId, units.marketId.slice(0, 8)]) {
      expect(await signed({ orderSubmission: { ...order, market, price, size } })).toEqual(expected);
    }
    const pegged = {
      market: "M10",
      ...order,
      peggedOrder: { reference: "BEST_BID", offset: units.price.format("12") },
    };
    expect(await signed({ orderSubmission: pegged })).toMatchObject({
      orderSubmission: { peggedOrder: { reference: "PEGGED_REFERENCE_BEST_BID", offset: "12" } },
    });
  });

  it("in amendments, whose change of the size may be negative", async () => {
    const amendment = { market: "M10", orderId: id, price: units.price.format("5"), sizeDelta: "-1.25" };
    expect(units.size.decimals).toBe(2);
    expect(await signed({ orderAmendment: amendment })).toEqual({
      orderAmendment: { marketId: units.marketId, orderId: id, price: "5", sizeDelta: "-125" },
    });
  });

  it("in stop orders, whose triggers need no whole tick, and in batches", async () => {
    const setup = {
      price: units.price.format("266666"),
      orderSubmission: { market: "M10", ...order, type: "MARKET", timeInForce: "IOC", reduceOnly: true },
    };
    const expected = {
      price: "266666",
      orderSubmission: { marketId: units.marketId, size: units.size.parse("3").toString(), reduceOnly: true },
    };
    expect(await signed({ stopOrdersSubmission: { risesAbove: setup } })).toMatchObject({
      stopOrdersSubmission: { risesAbove: expected },
    });
    const batch = { stopOrdersSubmission: [{ fallsBelow: setup }], cancellations: [{ market: "M10", orderId: id }] };
    expect(await signed({ batchMarketInstructions: batch })).toMatchObject({
      batchMarketInstructions: {
        stopOrdersSubmission: [{ fallsBelow: expected }],
        cancellations: [{ marketId: units.marketId, orderId: id }],
      },
    });
  });

  it("in transfers and withdrawals, by the symbol of the asset", async () => {
    const listed = await run(["call", "ListAssets", "--all", "--grpc-url", node.grpcUrl]);
    const assets = listed.out.trimEnd().split("\n");
    const { id: asset } = assets.map((line) => JSON.parse(line)).find(({ details }) => details.symbol === "USDT");
    expect(await signed({ transfer: { ...transfer, assetSymbol: "USDT", amount: "1.5" } })).toMatchObject({
      transfer: { fromAccountType: "ACCOUNT_TYPE_GENERAL", asset, amount: "1500000" },
    });
    const ext = { erc20: { receiverAddress: `0x${"ab".repeat(20)}` } };
    expect(await signed({ withdrawSubmission: { assetSymbol: "USDT", amount: "0.000001", ext } })).toMatchObject({
      withdrawSubmission: { asset, amount: "1" },
    });
  });
});

test.each<readonly [string, object, RegExp]>([
  [
    "a price between two ticks",
    { orderSubmission: { ...order, market: "M10", price: "267472.95" } },
    /^tradewire: price must have at most 1 decimals [\s\S]*Use 267472\.9, the nearest below/,
  ],
  [
    "a trigger with too many decimals",
    { stopOrdersSubmission: { risesAbove: { price: "1.23", orderSubmission: { ...order, market: "M10" } } } },
    /^tradewire: StopOrderSetup\.price must have at most 1 decimals/,
  ],
  [
    "a number without quotes",
    { orderSubmission: { ...order, market: "M10", price: 26.5 } },
    /^tradewire: OrderSubmission\.price must be a decimal number in quotes \(got 26\.5\)/,
  ],
  [
    "both forms",
    { orderSubmission: { ...order, market: "M10", marketId: id, price: "1" } },
    /^tradewire: the file names markets or assets in both forms\nWith decimals, use market/,
  ],
  [
    "both forms in different commands",
    {
      batchMarketInstructions: {
        submissions: [{ ...order, market: "M10", price: "1" }],
        cancellations: [{ marketId: id, orderId: id }],
      },
    },
    /in both forms/,
  ],
  [
    "a market that is unknown",
    { orderSubmission: { ...order, market: "m10", price: "1" } },
    /"m10"\nDid you mean M10\?/,
  ],
  [
    "an asset that is unknown",
    { transfer: { ...transfer, assetSymbol: "USDX", amount: "1" } },
    /no asset has the symbol or ID "USDX"/,
  ],
  [
    "an amount whose asset is not named",
    { batchMarketInstructions: { submissions: [{ ...order, price: "1" }], cancellations: [{ market: "M10" }] } },
    /^tradewire: the decimals of OrderSubmission\.\w+ are unknown\nAdd market: /,
  ],
  [
    "decimals with marketId",
    { orderSubmission: { ...order, marketId: id, price: "26.5" } },
    /^tradewire: orderSubmission\.price must be an unsigned whole number [\s\S]*with "market": "M0" [^\n]* are decimals\. Correct the command/,
  ],
  [
    "a code in marketId",
    { orderSubmission: { ...order, marketId: "M10", price: "26" } },
    /^tradewire: orderSubmission\.marketId must be 64 hex digits [\s\S]*with "market": "M0"/,
  ],
  [
    "a mistake that decimals do not mend",
    { orderSubmission: { ...order, marketId: id, price: "0" } },
    /must be positive \(got 0\)\nCorrect the command\. Nothing was signed or sent\.\n$/,
  ],
  [
    "an unknown enum value",
    { orderSubmission: { ...order, side: "BYE", market: "M10", price: "1" } },
    /must be a value of vega\.Side \(got "BYE"\)\nValid values: UNSPECIFIED, BUY, SELL\./,
  ],
])("%s is refused", async (_, command, message) => {
  const { code, out, err } = await withCommand("sign", command);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toMatch(message);
});

describe("submit shows what it sends, in decimals", () => {
  const shown = (err: string) => err.split("\n").filter((line) => line.startsWith("  "));
  const price = "100000";
  const integers = () => ({ orderSubmission: { ...order, size: "300", marketId: units.marketId, price, ...enums } });

  it("for each form of a file, also a signed one, and not on standard output", async () => {
    const expected = [
      "  orderSubmission",
      "  market           M10",
      "  side             BUY",
      "  size             3",
      `  price            ${units.price.format(price)}`,
      "  type             LIMIT",
      "  timeInForce      GTC",
    ];
    const decimals = { orderSubmission: { ...order, market: "M10", price: units.price.format(price) } };
    for (const command of [integers(), decimals]) {
      const { code, out, err } = await withCommand("submit", command, "-o", "table");
      expect({ code, out, lines: shown(err) }).toEqual({
        code: 0,
        out: expect.stringMatching(/^[0-9A-F]{64}\n$/),
        lines: expected,
      });
    }
    const request = (await withCommand("sign", decimals)).out;
    const { code, err } = await withFile("submit", request, "-o", "table");
    expect({ code, lines: shown(err) }).toEqual({ code: 0, lines: expected });
  });

  const all = "all of this key's";
  it.each<readonly [object, readonly string[]]>([
    [{ orderCancellation: {} }, ["orderCancellation", `orders             ${all}`]],
    [
      { orderCancellation: { market: "M10" } },
      ["orderCancellation", "market             M10", `orders             ${all} in the market`],
    ],
    [
      { orderCancellation: { market: "M10", orderId: id } },
      ["orderCancellation", "market             M10", `orderId            ${id}`],
    ],
    [{ stopOrdersCancellation: {} }, ["stopOrdersCancellation", `stopOrders              ${all}`]],
    [
      { batchMarketInstructions: { cancellations: [{}], stopOrdersCancellation: [{ market: "M10" }] } },
      [
        "batchMarketInstructions",
        `cancellations[0].orders               ${all}`,
        "stopOrdersCancellation[0].market      M10",
        `stopOrdersCancellation[0].stopOrders  ${all} in the market`,
      ],
    ],
  ])("with the scope of a cancellation: %j", async (command, lines) => {
    const { err } = await withCommand("submit", command, "--dry-run");
    expect(shown(err)).toEqual(lines.map((line) => `  ${line}`));
  });

  it("by symbols of assets", async () => {
    const { err } = await withCommand("submit", { transfer: { ...transfer, assetSymbol: "USDT", amount: "1.50" } });
    expect(shown(err)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^ {2}assetSymbol +USDT$/),
        expect.stringMatching(/^ {2}amount +1\.5$/),
      ]),
    );
  });
});
