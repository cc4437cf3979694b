// The decimals of the local node's markets and assets are those that its listings have: a market counts prices in
// `decimalPlaces` and sizes in `positionDecimalPlaces`, an asset in `decimals` (v0.78.0, datanode/entities/market.go).
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { openMarket } from "../support/devnode.js";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 100, blockMs: 0 });
});
afterAll(() => node.close());

const ask = (...args: string[]) => run([...args, "--grpc-url", node.grpcUrl]);
const lines = async (...args: string[]) =>
  (await ask(...args)).out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** A whole number divided by a power of ten, as decimal text. */
function scaled(units: string, decimals: number): string {
  const digits = units.padStart(decimals + 1, "0");
  const [integer, fraction] = [digits.slice(0, digits.length - decimals), digits.slice(digits.length - decimals)];
  return `${integer}.${fraction}`.replace(/\.?0*$/, "");
}

describe("markets", () => {
  it("prints a table with codes and decimal prices, as JSON has them", async () => {
    const { code, out } = await ask("markets", "--output", "table");
    expect(code).toBe(0);
    const [header, ...rows] = out.trimEnd().split("\n");
    expect(header).toMatch(
      /^code +id +state +tradingMode +markPrice +bestBidPrice +bestOfferPrice +openInterest +name$/,
    );
    expect(rows).toContainEqual(expect.stringMatching(/^M0 +[0-9a-f]{8}… +ACTIVE +CONTINUOUS +\d+(\.\d+)? /));
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const { marketsData } = await client.service(TradingDataService).listLatestMarketData({});
    for (const { id, decimalPlaces, markPrice: shown } of await lines("markets")) {
      const markPrice = marketsData.find(({ market }) => market === id)?.markPrice ?? "";
      expect(shown).toBe(markPrice === "0" ? null : scaled(markPrice, Number(decimalPlaces)));
    }
  });
});

describe("a market", () => {
  it("is listed alone by its code, its ID or the start of its ID, also if it is settled", async () => {
    const all = await lines("markets", "--settled");
    for (const { id, tradableInstrument } of all) {
      for (const name of [tradableInstrument.instrument.code, id, id.slice(0, 8)]) {
        expect((await lines("markets", name)).map((market) => market.id)).toEqual([id]);
      }
    }
  });

  it("is refused if no market has the name", async () => {
    const { code, out, err } = await ask("markets", "M77");
    expect({ code, out, err }).toEqual({
      code: 2,
      out: "",
      err: 'tradewire: no market has the code or ID "M77"\nDid you mean M7? Run `tradewire markets` to list the codes and IDs.\n',
    });
  });
});

describe("orders and trades", () => {
  it("have the decimals of their market, and with --raw the numbers as the node sent them", async () => {
    const markets = new Map((await lines("markets", "--settled")).map((market) => [market.id, market]));
    for (const command of ["orders", "trades"]) {
      const records = await lines(command, "--limit", "50");
      const sent = await lines(command, "--limit", "50", "--raw");
      expect([records.length, sent.length]).toEqual([50, 50]);
      for (const [at, { id, marketId, price, size }] of records.entries()) {
        const raw = sent[at];
        const { decimalPlaces = "0", positionDecimalPlaces = "0" } = markets.get(marketId);
        expect([id, price, size]).toEqual([
          raw.id,
          scaled(raw.price, Number(decimalPlaces)),
          scaled(raw.size, Number(positionDecimalPlaces)),
        ]);
      }
    }
  });

  it("has full IDs and all columns with --wide, each value on its own line where the terminal is narrow", async () => {
    const environment = { NO_COLOR: "1" };
    const wide = (columns: number) =>
      run(["orders", "--limit", "2", "--wide", "--grpc-url", node.grpcUrl], {
        terminal: { columns, rows: 30 },
        environment,
      });
    const narrow = await wide(80);
    expect({ code: narrow.code, err: narrow.err.replace(/\r.*\r/, "") }).toEqual({ code: 0, err: "" });
    const record = "id +[0-9a-f]{64}\nmarket +M\\d+\n(\\w+.*\n){8}partyId +[0-9a-f]{64}\nreference.*\n";
    expect(narrow.out).toMatch(new RegExp(`^${record}\n${record}$`));
    const table = await wide(400);
    expect(table.out).toMatch(/^id +market .* partyId +reference\n[0-9a-f]{64} .*\n[0-9a-f]{64} .*\n$/);
  });

  it("print the chosen columns in their order, in every format", async () => {
    const columns = ["--columns", "price,marketId,id,market,side", "--limit", "2"];
    const records = await lines("orders", "--limit", "2");
    const expected = records.map(({ id, marketId, price, side, market }) => ({ price, marketId, id, market, side }));
    expect(await lines("orders", ...columns)).toEqual(expected);
    const { out } = await ask("orders", ...columns, "-o", "jsonl");
    expect(out.split("\n")[0]).toBe(JSON.stringify(expected[0]));
    expect(JSON.parse((await ask("orders", ...columns, "--json")).out)).toEqual({ orders: expected });
    expect((await ask("orders", ...columns, "-o", "csv")).out.split("\n").slice(0, 2)).toEqual([
      "price,marketId,id,market,side",
      Object.values(expected[0] ?? {}).join(","),
    ]);
    const table = (await ask("orders", ...columns, "-o", "table")).out
      .split("\n")
      .map((line) => line.trim().split(/ +/));
    const { price, marketId, id, market, side } = expected[0] ?? {};
    const markets = new Map((await lines("markets", "--settled")).map((each) => [each.id, each]));
    expect(market).toBe(markets.get(marketId).tradableInstrument.instrument.code);
    expect(table.slice(0, 2)).toEqual([
      ["price", "marketId", "id", "market", "side"],
      [price, `${marketId.slice(0, 8)}…`, `${id.slice(0, 8)}…`, market, side],
    ]);
    const raw = await lines("orders", ...columns, "--raw");
    expect(raw.map(({ id, side }) => [id, side])).toEqual(records.map(({ id, side }) => [id, `SIDE_${side}`]));
  });

  it("refuse columns that do not exist, and suggest those that are meant", async () => {
    expect(await ask("orders", "--columns", "id,prise,createdAd")).toEqual({
      code: 2,
      out: "",
      err: expect.stringMatching(
        /^tradewire: unknown column "prise", "createdAd" of orders\nDid you mean price, createdAt\? Valid columns: id, marketId, partyId, .*\.\n$/s,
      ),
    });
    expect((await ask("orders", "--columns", "id,markt", "-o", "table")).err).toMatch(
      /^tradewire: unknown column "markt" of orders\nDid you mean market\? /,
    );
    expect((await ask("positions", "--columns", "entry_price", "-o", "csv")).err).toContain(
      'unknown column "entry_price" of positions\n',
    );
    expect((await ask("orders", "--columns", "id,id")).err).toContain("contains a duplicate column name");
  });

  it("keep the chosen columns of a narrow terminal as far as they fit", async () => {
    const { out, err } = await run(
      ["orders", "--limit", "1", "--columns", "reference,createdAt,side,id", "--grpc-url", node.grpcUrl],
      {
        terminal: { columns: 60, rows: 30 },
        environment: { NO_COLOR: "1" },
      },
    );
    expect(out).toMatch(/^reference +createdAt +side +id\n/);
    expect(err).not.toContain("hidden");
  });

  it.each(["code", "start of the ID", "ID in capitals"])("take a market by its %s", async (way) => {
    const name = { code: "M0", "start of the ID": openMarket.slice(0, 6), "ID in capitals": openMarket.toUpperCase() };
    const records = await lines("orders", "--market", name[way as keyof typeof name], "--limit", "20");
    expect(new Set(records.map(({ marketId }) => marketId))).toEqual(new Set([openMarket]));
  });

  it("refuse a market that is unknown or ambiguous", async () => {
    expect(await ask("trades", "--market", "no-such-code")).toEqual({
      code: 2,
      out: "",
      err: 'tradewire: no market has the code or ID "no-such-code"\nRun `tradewire markets` to list the codes and IDs.\n',
    });
  });

  it.each([["orders"], ["trades"]])("%s are listed by their IDs, or the starts of them", async (command) => {
    const [first, second] = await lines(command, "--limit", "2");
    const asked = [second.id.slice(0, 12), `${first.id.slice(0, 8).toUpperCase()}…`, second.id];
    expect(await lines(command, ...asked)).toEqual([second, first, second]);
    expect(JSON.parse((await ask(command, first.id, "--json")).out)).toEqual({ [command]: [first] });
    expect(await ask(command, "M0")).toEqual({
      code: 2,
      out: "",
      err: expect.stringMatching(/^tradewire: "M0" is no ID of .*\nDid you mean `tradewire \w+ --market M0`\?\n$/),
    });
    const missing = await ask(command, "0123456789ab", "--market", "M0", "--party", first.partyId ?? first.buyer);
    expect(missing).toMatchObject({ code: 2, out: "", err: expect.stringMatching(/ has the ID "0123456789ab"\n/) });
  });

  it("are of the time between --since and --until, without its end", async () => {
    const orders = await lines("orders", "--limit", "500", "--raw");
    // The time of an order is that of its last change.
    const timeOf = ({ createdAt, updatedAt }: { createdAt: string; updatedAt: string }) =>
      BigInt(updatedAt === "0" ? createdAt : updatedAt);
    const times = orders.map(timeOf).sort();
    const [oldest = 0n, newest = 0n] = [times[0], times.at(-1)];
    expect(newest).toBeGreaterThan(oldest);
    const between = await lines("orders", "--since", String(oldest), "--until", String(newest), "--raw");
    expect(between.map(({ id }) => id)).toEqual(
      expect.arrayContaining(orders.filter((order) => timeOf(order) < newest).map(({ id }) => id)),
    );
    expect(between.every((order) => timeOf(order) >= oldest && timeOf(order) < newest)).toBe(true);
    const [trade] = await lines("trades", "--limit", "1", "--raw");
    const at = await lines(
      "trades",
      "--since",
      trade.timestamp,
      "--until",
      String(BigInt(trade.timestamp) + 1n),
      "--raw",
    );
    expect(at).toContainEqual(trade);
    expect(at.every(({ timestamp }) => timestamp === trade.timestamp)).toBe(true);
    expect(await ask("trades", "--until", "2000-01-01")).toEqual({ code: 0, out: "", err: "" });
  });

  it("are filtered by party and status", async () => {
    const [{ partyId }] = await lines("orders", "--live", "--limit", "1");
    const records = await lines("orders", "--party", partyId, "--status", "active", "--status", "STATUS_PARKED");
    expect(records.length).toBeGreaterThan(0);
    for (const record of records) {
      expect([record.partyId, record.status]).toEqual([partyId, expect.stringMatching(/^(ACTIVE|PARKED)$/)]);
    }
  });
});

it.each([
  ["orders", "orders"],
  ["trades", "trades"],
  ["positions", "positions"],
  ["accounts", "accounts"],
  ["stop-orders", "stop orders"],
])("%s without records are an empty list, and words in place of a table", async (command, words) => {
  const none = [command, "--party", "0f".repeat(32)];
  expect(await ask(...none, "-o", "table")).toEqual({ code: 0, out: "", err: `No ${words} match.\n` });
  const member = command === "stop-orders" ? "stopOrders" : command;
  expect(await ask(...none, "--json")).toEqual({ code: 0, out: `{"${member}":[]}\n`, err: "" });
  expect(await ask(...none)).toEqual({ code: 0, out: "", err: "" });
});

describe("positions and accounts", () => {
  it("show codes, and amounts in the decimals of their asset", async () => {
    const positions = await ask("positions", "--market", "M0", "--limit", "3", "--output", "table");
    expect(positions.out).toMatch(/^market +partyId +openVolume +averageEntryPrice [\s\S]*\nM0 +[0-9a-f]{8}… +-?\d/);
    const [{ owner, asset, assetSymbol, balance }] = await lines("accounts", "--limit", "1");
    const [sent] = await lines("accounts", "--limit", "1", "--raw");
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const found = await client.service(TradingDataService).getAsset({ assetId: asset });
    expect([sent.owner, balance]).toEqual([owner, scaled(sent.balance, Number(found.asset?.details?.decimals))]);
    expect(assetSymbol).toBe(found.asset?.details?.symbol);
    const ofParty = await ask("accounts", "--party", owner, "--output", "table");
    expect(ofParty.out).toContain(`  ${found.asset?.details?.symbol}  `);
  });
});
