import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { TransactionResult_Status } from "tradewire/gen/vega/events/v1/events_pb.js";
import { AccountType, Order_Status, Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { run, startCommand } from "../support/command.js";
import { type BusAnswer, eventOf, quiet, streamingService } from "../support/event-server.js";
import { eventually } from "../support/eventually.js";
import { serveNode } from "../support/node.js";
import { nodeRuntime, useRuntime } from "../support/virtual-runtime.js";

const [id, party, market] = ["0d".repeat(32), "a1".repeat(32), "b2".repeat(32)];
const tx = "C3".repeat(32);
const order = eventOf("7-2", {
  txHash: tx,
  event: {
    case: "order",
    value: {
      ...{ id, partyId: party, marketId: market, side: Side.BUY, size: 10n, remaining: 5n, price: "10050" },
      ...{ status: Order_Status.ACTIVE, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC },
      createdAt: 1_700_000_000_000_000_001n,
    },
  },
});
const trade = eventOf("7-3", {
  event: { case: "trade", value: { id, marketId: market, price: "100", size: 5n, buyer: party, seller: "s" } },
});
const result = eventOf("8-1", {
  event: {
    case: "transactionResult",
    value: {
      partyId: party,
      statusDetail: TransactionResult_Status.FAILURE,
      transaction: { case: "orderSubmission", value: {} },
      extra: { case: "failure", value: { error: "no \u001b[31mmargin\u202e" } },
    },
  },
});
const endBlock = eventOf("8-2", { event: { case: "endBlock", value: { height: 8n } } });

const tradableInstrument = {
  instrument: { code: "ABC", product: { case: "future", value: { settlementAsset: "e5".repeat(32) } } },
} as const;
const listed = { id: market, decimalPlaces: 2n, positionDecimalPlaces: 1n, tradableInstrument };
const markets = {
  listMarkets: () => ({ markets: { edges: [{ cursor: "1", node: listed }], pageInfo: {} } }),
  getMarket: () => ({ market: listed }),
  getAsset: () => ({ asset: { details: { decimals: 5n } } }),
};

async function start(answer: BusAnswer, others: Parameters<typeof serveNode>[0] = markets) {
  const { service, calls } = streamingService(answer);
  const node = await serveNode({ ...service, ...others });
  return { node, calls, args: ["events", "--grpc-url", node.grpcUrl], [Symbol.asyncDispose]: () => node.close() };
}

const all: BusAnswer = async function* ({ signal }) {
  yield [order, trade, result, endBlock];
  yield* quiet(signal);
};
const lostOnce: BusAnswer = async function* ({ signal }, before) {
  yield before === 0 ? [order] : [endBlock];
  if (before > 0) {
    yield* quiet(signal);
  }
};

describe("tradewire events", () => {
  it("shows the balances of accounts in the decimals of their assets, by symbol", async () => {
    const asset = "e5".repeat(32);
    const account = eventOf("9-1", {
      event: {
        case: "account",
        value: { id: "a", owner: party, balance: "1234567", asset, type: AccountType.GENERAL },
      },
    });
    const accounts: BusAnswer = async function* ({ signal }) {
      yield [account, account];
      yield* quiet(signal);
    };
    const node = { id: asset, details: { symbol: "VOTE", decimals: 5n } };
    const listAssets = () => ({ assets: { edges: [{ cursor: "1", node }], pageInfo: {} } });
    const table = ["--type", "account", "--output", "table", "--limit", "2"];
    await using offering = await start(accounts, { ...markets, listAssets });
    const { out, err } = await run([...offering.args, ...table]);
    expect(err).toBe("");
    expect(out).toMatch(/ balance=12\.34567 assetSymbol=VOTE /);
    await using lacking = await start(accounts);
    const unknown = await run([...lacking.args, ...table]);
    expect(unknown.out).toMatch(/ owner=a1a1a1a1… assetSymbol=e5e5e5e5… /);
    expect(unknown.err).toMatch(
      /^tradewire: the decimals of asset e5e5e5e5… cannot be loaded: [^\n]+; its amounts are left out\. Use --raw /,
    );
    const raw = await run([...lacking.args, ...table, "--raw"]);
    expect(raw.err).toBe("");
    expect(raw.out).toMatch(/ balance=1234567 assetSymbol=e5e5e5e5… /);
    await using other = await start(accounts, {
      ...markets,
      listAssets: () => ({ assets: { edges: [], pageInfo: {} } }),
    });
    expect((await run([...other.args, ...table])).err).toMatch(/ cannot be loaded: the node does not list it; /);
  });

  it("prints an object a line in a pipe, with 64-bit numbers as texts", async () => {
    await using node = await start(all);
    const { code, out, err } = await run([...node.args, "--limit", "4"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const lines = out.trimEnd().split("\n");
    expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        ...{ id: "7-2", block: "7", sequence: "2", blockHash: "hash-7", txHash: tx, chainId: "chain-1", kind: "order" },
        value: {
          id,
          side: "BUY",
          size: "1",
          price: "100.5",
          status: "ACTIVE",
          createdAt: "2023-11-14T22:13:20.000000001Z",
        },
      },
      { kind: "trade", value: { price: "1" } },
      { kind: "transactionResult", value: { failure: { error: "no \u001b[31mmargin\u202e" } } },
      { kind: "endBlock", value: { height: "8" } },
    ]);
    const [first = ""] = (await run([...node.args, "--limit", "1", "--raw"])).out.split("\n");
    expect(JSON.parse(first).value).toMatchObject({
      ...{
        id,
        side: "SIDE_BUY",
        size: "10",
        price: "10050",
        status: "STATUS_ACTIVE",
        createdAt: "1700000000000000001",
      },
    });
  });

  it("prints a line for a person, safe for a terminal", async () => {
    await using node = await start(all);
    const { code, out } = await run([...node.args, "--output", "table", "--limit", "4"]);
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    // Each line begins with the time of its arrival.
    expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ""))).toEqual([
      "       7  order              C3C3C3C3…  ACTIVE BUY 1 @ 100.5 remaining=0.5 LIMIT GTC market=ABC id=0d0d0d0d… partyId=a1a1a1a1…",
      "       7  trade              tx-7-3     0.5 @ 1 aggressor=UNSPECIFIED market=ABC buyer=a1a1a1a1… seller=s id=0d0d0d0d…",
      '       8  transactionResult  tx-8-1     FAILURE orderSubmission partyId=a1a1a1a1… "no \\u001b[31mmargin\\u{202e}"',
      "       8  endBlock           tx-8-2     height=8",
    ]);
    expect(lines.every((line) => /^\d\d:\d\d:\d\d /.test(line))).toBe(true);
    expect((await run([...node.args, "--output", "table", "--limit", "1", "--wide"])).out).toContain(
      `id=${id} partyId=${party}`,
    );
    const terminal = { columns: 60, rows: 20 };
    const fitted = await run([...node.args, "--limit", "4"], { terminal });
    expect(fitted.out.split("\n").map((line) => line.length)).toEqual([60, 60, 60, 58, 0]);
    expect(fitted.out).toMatch(/ order {14}C3C3C3C3… {2}ACTIVE BU…\n/);
    expect((await run([...node.args, "--limit", "1", "--wide"], { terminal })).out).toContain(
      `id=${id} partyId=${party}`,
    );
  });

  it("leaves out numbers without decimals, and says so once, where a node does not offer the market", async () => {
    await using node = await start(all, {});
    const { code, out, err } = await run([...node.args, "--output", "table", "--limit", "2"]);
    expect(code).toBe(0);
    expect(out).toMatch(/ ACTIVE BUY LIMIT GTC market=b2b2b2b2… .*\n.* {2}aggressor=/);
    expect(err).toMatch(
      /^tradewire: the decimals of market b2b2b2b2… cannot be loaded: [^\n]*; its prices and sizes are left out\. Use --raw [^\n]*\n$/,
    );
    const raw = await run([...node.args, "--output", "table", "--limit", "2", "--raw"]);
    expect(raw.err).toBe("");
    expect(raw.out).toMatch(/ SIDE_BUY 10 @ 10050 remaining=5 .* market=b2b2b2b2… .*\n.* 5 @ 100 aggressor=/);
  });

  it("requests decimals again that could not be loaded, after ten seconds", async () => {
    let [isAway, shift, requests] = [true, 0, 0];
    using _ = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + shift });
    const listMarkets = () => {
      requests += 1;
      if (isAway) {
        throw new ConnectError("starting", Code.FailedPrecondition);
      }
      return markets.listMarkets();
    };
    const eventsOf = (block: number) => [1, 2].map((at) => eventOf(`${block}-${at}`, { event: order.event }));
    const prices = () => printed().map((line) => JSON.parse(line).value.price);
    await using node = await start(
      async function* ({ signal }) {
        yield eventsOf(7);
        await eventually(() => prices().length === 2);
        [isAway, shift] = [false, 9000];
        yield eventsOf(8);
        await eventually(() => prices().length === 4);
        shift = 10_001;
        yield eventsOf(9);
        yield* quiet(signal);
      },
      { ...markets, listMarkets },
    );
    const running = startCommand([...node.args, "--limit", "6"]);
    const printed = () => running.printed().split("\n").slice(0, -1);
    const { err } = await running.ended;
    expect(prices()).toEqual([null, null, null, null, "100.5", "100.5"]);
    expect(requests).toBe(2);
    expect(err.match(/cannot be loaded/g)).toHaveLength(1);
  });

  it("prints stop orders and market data in the decimals of their market", async () => {
    const stopOrder = { id, partyId: party, marketId: market, trigger: { case: "price", value: "9950" } } as const;
    const submission = { marketId: market, side: Side.SELL, size: 20n, price: "9900" };
    const events = [
      eventOf("7-1", { event: { case: "stopOrder", value: { stopOrder, submission } } }),
      eventOf("7-2", { event: { case: "marketData", value: { market, markPrice: "12345", bestBidVolume: 15n } } }),
    ];
    await using node = await start(async function* ({ signal }) {
      yield events;
      yield* quiet(signal);
    });
    const { out, err } = await run([...node.args, "--output", "table", "--limit", "2"]);
    expect(err).toBe("");
    const [stop, data] = out.split("\n");
    expect(stop).toMatch(/ UNSPECIFIED UNSPECIFIED 99\.5 SELL 2 @ 99 market=ABC id=0d0d0d0d… partyId=a1a1a1a1…$/);
    expect(data).toMatch(/ markPrice=123\.45 bestBidVolume=1\.5 bestOfferVolume=0 /);
  });

  it("asks for what it is told to", async () => {
    await using node = await start(all);
    const filters = ["--type", "order", "--type", "trade", "--party", party, "--market", market];
    expect((await run([...node.args, ...filters, "--limit", "1"])).code).toBe(0);
    expect(node.calls[0]?.requests[0]).toMatchObject({ type: [5, 8], partyId: party, marketId: market });
  });

  it("prints the ends of orders with --lifecycle, and without it notes that they are missing", async () => {
    const canceled = eventOf("8-1", {
      event: { case: "cancelledOrders", value: { marketId: market, orderIds: [id] } },
    });
    await using node = await start(async function* ({ signal }) {
      yield [order, canceled];
      yield* quiet(signal);
    });
    const args = [...node.args, "--type", "order"];
    const joined = await run([...args, "--lifecycle", "--output", "table", "--limit", "2"]);
    expect(joined).toMatchObject({ code: 0, err: "" });
    expect(joined.out.split("\n")[1]).toMatch(/^\S+ +8 {2}order +tx-8-1 +CANCELLED BUY 1 @ 100\.5/);
    const note = "tradewire: events of type order omit cancellations and expiries; add them with --lifecycle\n";
    const table = [...args, "--output", "table", "--limit", "1"];
    expect((await run(table)).err).toBe(note);
    expect((await run([...table, "--quiet"])).err).toBe("");
    expect((await run([...table, "--type", "cancelledOrders", "--type", "expiredOrders"])).err).toBe("");
    expect((await run([...args, "--limit", "1"])).err).toBe("");
    expect((await run([...node.args, "--type", "trade", "--lifecycle"])).code).toBe(2);
  });

  it("comes back, and tells of the gap on both streams", async () => {
    await using node = await start(lostOnce);
    const { code, out, err } = await run([...node.args, "--limit", "2"]);
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines[1]).toBe('{"gap":{"afterBlock":"6","beforeBlock":"9"}}');
    expect([lines[0], lines[2]].map((line) => JSON.parse(line ?? "").id)).toEqual(["7-2", "8-2"]);
    expect(err).toMatch(/the node ended it without an error; attempt 2 in \d+ ms\n/);
    expect(err).toContain("tradewire: events of blocks after 6 and before 9 may be missing: the connection was lost\n");
  });

  it("warns of the gap, and of nothing else, with --quiet", async () => {
    await using node = await start(lostOnce);
    const { out, err } = await run([...node.args, "--limit", "2", "--output", "table", "--quiet"]);
    expect(out.trimEnd().split("\n")).toHaveLength(2);
    expect(err).toBe("tradewire: events of blocks after 6 and before 9 may be missing: the connection was lost\n");
  });

  it("ends with an error where it is not to come back", async () => {
    await using node = await start(lostOnce);
    const { code, out, err } = await run([...node.args, "--no-reconnect"]);
    expect(code).toBe(1);
    expect(out.trimEnd().split("\n")).toHaveLength(1);
    expect(err).toContain(
      "the stream of events was lost: the node ended it without an error; events after block 6 may be missing",
    );
  });

  it("ends on Ctrl-C with 130", async () => {
    await using node = await start(all);
    const running = startCommand([...node.args]);
    await running.firstLine;
    running.interrupt("SIGINT");
    expect((await running.ended).code).toBe(130);
  });

  it.each([
    [["--type", "ordr"], '--type must be an event type (got "ordr")\nDid you mean order?'],
    [["--party", "x"], 'no party has the ID "x"'],
    [["--limit", "0"], 'tradewire: --limit must be a positive whole number (got "0")'],
    [["--output", "csv"], "Allowed choices are table, jsonl"],
  ])("is used in another way than %j", async (args, words) => {
    const { code, err } = await run(["events", "--grpc-url", "http://127.0.0.1:1", ...args]);
    expect(code).toBe(2);
    expect(err).toContain(words);
  });

  it("refuses events of another chain", async () => {
    await using node = await start(all);
    const { code, err } = await run([...node.args, "--chain-id", "chain-2"]);
    expect(code).toBe(1);
    expect(err).toContain('event 7-2 belongs to chain "chain-1", not to "chain-2"');
  });
});
