import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type CommandInit,
  createClient,
  Order_TimeInForce,
  Order_Type,
  Side,
  type Signer,
  signerFromMnemonic,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { Vote_Value } from "tradewire/gen/vega/governance_pb.js";
import { AccountType } from "tradewire/gen/vega/vega_pb.js";
import { type Running, run, startCommand } from "../support/command.js";
import { openMarket, ownAsset } from "../support/devnode.js";
import { eventually } from "../support/eventually.js";
import { startForwarder } from "../support/forwarder.js";
import { freePort } from "../support/free-port.mjs";
import { newMarket } from "../support/new-market.js";
import { serveNode } from "../support/node.js";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 20, blockMs: 0, activity: 3 });
});
afterAll(() => node.close());

/** Starts a command that prints each change, and returns it with the lines that it has printed so far. */
function watch(args: readonly string[], url = node.grpcUrl) {
  const running = startCommand([...args, "--follow", "--grpc-url", url]);
  let text = "";
  running.stdout.on("data", (bytes: Buffer) => {
    text += bytes.toString();
  });
  return { running, lines: () => text.split("\n").slice(0, -1) };
}

/** Makes blocks until the command has printed more lines. */
async function untilMore(lines: () => readonly unknown[], count: number): Promise<void> {
  for (let made = 0; lines().length <= count && made < 5; made += 1) {
    await node.makeBlock();
  }
  await eventually(() => lines().length > count);
}

async function interrupted(running: Running): Promise<void> {
  running.interrupt("SIGINT");
  expect(await running.ended).toMatchObject({ code: 130, err: "" });
}

describe("--follow", () => {
  it.each([["trades", "--market", "M0"], ["orders", "--market", openMarket.slice(0, 8)], ["positions"]])(
    "prints the records of %s, and then each change as a line",
    async (...args) => {
      const { running, lines } = watch([...args, "--limit", "3"]);
      await eventually(() => lines().length >= 3);
      await untilMore(lines, 5);
      const records = lines().map((line) => JSON.parse(line));
      expect(records.every(({ market }) => /^M\d$/.test(market))).toBe(true);
      expect(new Set(lines()).size).toBe(lines().length);
      await interrupted(running);
    },
  );

  it("prints a market when an order changes its prices", async () => {
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const signer = await signerFromMnemonic(node.mnemonic, { index: 1 });
    const { running, lines } = watch(["markets"]);
    const found = () =>
      lines()
        .map((line) => JSON.parse(line))
        .filter(({ id }) => id === openMarket);
    await eventually(() => found().length > 0);
    const units = await client.marketUnits(openMarket);
    const limit = { side: Side.BUY, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC };
    const order = units.order({ ...limit, price: found()[0].bestOfferPrice, size: "1" });
    await client.sendCommand(order, { signer });
    await untilMore(found, 1);
    // The records are listed twice, so that a third change can only come from the stream.
    await untilMore(found, 2);
    await untilMore(found, 3);
    expect(found()[1]).not.toEqual(found()[0]);
    await interrupted(running);
  });

  it("prints a market that is created meanwhile, and each of its changes", async () => {
    await using own = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
    await using client = createClient({ grpc: { url: own.grpcUrl } });
    const data = client.service(TradingDataService);
    const [ann, bob] = [
      await signerFromMnemonic(own.mnemonic, { index: 1 }),
      await signerFromMnemonic(own.mnemonic, { index: 2 }),
    ];
    let now = BigInt(Date.parse("2031-01-01T00:00:00Z")) / 1000n;
    const nextBlock = async (seconds = 1n) => {
      now += seconds;
      own.setTime(new Date(Number(now) * 1000).toISOString());
      await own.makeBlock();
    };
    const send = async (signer: Signer, command: CommandInit) => {
      await client.sendCommand(command, { signer });
      await nextBlock();
    };
    const { running, lines } = watch(["markets"], own.grpcUrl);
    await eventually(() => lines().length > 0);
    await nextBlock();
    await send(ann, newMarket(ann.publicKey, { settlementAsset: ownAsset, closingTimestamp: now + 25n }));
    const { connection } = await data.listGovernanceData({});
    const marketId = connection?.edges[0]?.node?.proposal?.id ?? "";
    const states = () =>
      lines()
        .map((line) => JSON.parse(line))
        .flatMap(({ id, state }) => (id === marketId ? [state] : []));
    await eventually(() => states().length > 0);
    for (const signer of [ann, bob]) {
      await send(signer, { case: "voteSubmission", value: { proposalId: marketId, value: Vote_Value.YES } });
    }
    await nextBlock(30n);
    await nextBlock(5n);
    // Only one listing could have it without the stream.
    await eventually(() => states().includes("PENDING"));
    const units = await client.marketUnits(marketId);
    const limit = { type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC, price: "1", size: "1" };
    await send(ann, units.order({ ...limit, side: Side.BUY }));
    await send(bob, units.order({ ...limit, side: Side.SELL }));
    await nextBlock();
    await eventually(() => states().includes("ACTIVE"));
    expect(states()[0]).toBe("PROPOSED");
    await interrupted(running);
  });

  it("prints balances of the parties that the starts of their IDs name", async () => {
    const [{ buyer }] = (await run(["trades", "--limit", "1", "--grpc-url", node.grpcUrl])).out
      .split("\n", 1)
      .map((line) => JSON.parse(line));
    const { running, lines } = watch(["accounts", "--party", `${buyer.slice(0, 8)}…`]);
    await eventually(() => lines().length > 0);
    const before = lines().length;
    await untilMore(lines, before);
    expect(new Set(lines().map((line) => JSON.parse(line).owner))).toEqual(new Set([buyer]));
    await interrupted(running);
  });

  // A data node sends a change before it commits it: v0.78.0, `processBlock` in datanode/broker/sqlstore_broker.go.
  it("keeps the balances of the stream over those of older listings", async () => {
    const [owner, asset] = ["a1".repeat(32), "c1".repeat(32)];
    const accountOf = (balance: string) => ({ owner, asset, type: AccountType.GENERAL, balance });
    const page = { pageInfo: { hasNextPage: false } };
    let listings = 0;
    let printed: readonly string[] | undefined;
    const service = {
      listMarkets: () => ({ markets: { ...page, edges: [] } }),
      listAssets: () => ({
        assets: { ...page, edges: [{ node: { id: asset, details: { decimals: 1n } }, cursor: "a" }] },
      }),
      listAccounts() {
        listings += 1;
        printed ??= listings === 3 ? lines() : undefined; // The second listing was processed before.
        return { accounts: { ...page, edges: [{ node: accountOf("100"), cursor: "a" }] } };
      },
      async *observeAccounts() {
        yield { response: { case: "updates" as const, value: { accounts: [accountOf("30")] } } };
        await eventually(() => listings >= 2);
      },
    };
    await using own = await serveNode(service);
    const { running, lines } = watch(["accounts", "--party", owner], own.grpcUrl);
    await eventually(() => printed !== undefined);
    const balances = printed?.map((line) => JSON.parse(line).balance) ?? [];
    expect(balances.slice(balances.indexOf("3"))).toEqual(["3"]);
    running.interrupt("SIGINT");
    await running.ended;
  });

  it("prints how live orders end", async () => {
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const signer = await signerFromMnemonic(node.mnemonic, { index: 2 });
    const { running, lines } = watch(["orders", "--live", "--party", signer.publicKey]);
    const statuses = () => lines().map((line) => JSON.parse(line).status);
    const units = await client.marketUnits(openMarket);
    const limit = { side: Side.BUY, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC };
    await client.sendCommand(units.order({ ...limit, price: "1", size: "1" }), { signer });
    await node.makeBlock();
    await eventually(() => statuses().includes("ACTIVE"));
    const [{ id: orderId }] = lines().map((line) => JSON.parse(line));
    const cancellation = { case: "orderCancellation", value: { marketId: openMarket, orderId } } as const;
    await client.sendCommand(cancellation, { signer });
    await node.makeBlock();
    await eventually(() => statuses().at(-1) === "CANCELLED");
    await interrupted(running);
  });

  it("says that the connection was lost, and has what changed meanwhile when it is back", async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const first = await startForwarder("127.0.0.1", port, node.grpcUrl);
    const { running, lines } = watch(["trades", "--limit", "5"], url);
    await eventually(() => lines().length >= 5);
    await untilMore(lines, 5);
    await first[Symbol.asyncDispose]();
    await eventually(() => running.said().includes("; reconnecting\n"));
    const before = lines().length;
    for (let made = 0; made < 3; made += 1) {
      await node.makeBlock();
    }
    await using _ = await startForwarder("127.0.0.1", port, node.grpcUrl);
    await eventually(() => lines().length > before);
    await eventually(() => running.said().includes("reconnected; the records were listed again\n"));
    running.interrupt("SIGTERM");
    expect((await running.ended).code).toBe(143);
  });
});

it("--follow prints the chosen columns of each change", async () => {
  const running = startCommand(["trades", "--follow", "--columns", "price,id", "--grpc-url", node.grpcUrl]);
  expect(await running.firstLine).toMatch(/^\{"price":"\d+(\.\d+)?","id":"[0-9a-f]{64}"\}$/);
  running.interrupt("SIGINT");
  expect((await running.ended).code).toBe(130);
});

describe("--watch on a terminal", () => {
  it("counts a single record as one", async () => {
    const running = startCommand(["trades", "--watch", "--limit", "1", "--grpc-url", node.grpcUrl], {
      terminal: { columns: 60, rows: 10 },
    });
    await eventually(() => running.printed().includes("1 trade; Ctrl-C ends"));
    running.interrupt("SIGINT");
    expect((await running.ended).code).toBe(130);
  });

  it("redraws the table in place, in its width, and names the columns that it hides at the end", async () => {
    const running = startCommand(["trades", "--watch", "--limit", "4", "--grpc-url", node.grpcUrl], {
      terminal: { columns: 60, rows: 10 },
    });
    const drawn = () => running.printed().split("\x1b[?7l").slice(1);
    await eventually(() => drawn().length > 0 && (drawn().at(-1) ?? "").includes("4 trades; Ctrl-C ends"));
    const count = drawn().length;
    await node.makeBlock();
    await eventually(() => drawn().length > count);
    running.interrupt("SIGINT");
    const { code, err } = await running.ended;
    expect(code).toBe(130);
    expect(err).toMatch(
      /^Columns hidden to fit the terminal: [^.]*buyer[^.]*\.\s+Use\s+--follow\s+to\s+print\s+all\.\n$/,
    );
    const lines = stripVTControlCharacters(drawn().at(-1) ?? "")
      .trimEnd()
      .split("\n");
    expect(lines).toHaveLength(6);
    expect(lines[0]?.replace("\r", "")).toMatch(/^id +market +price +size +aggressor/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(60);
  });
});

it.each([
  [["accounts", "--follow"], "accounts --watch and --follow need a party"],
  [["trades", "--watch"], "--watch redraws a table on a terminal"],
  [["trades", "--watch", "--output", "table"], "--watch redraws a table on a terminal"],
  [["trades", "--follow", "--output", "csv"], "--follow prints lines of JSON, not csv"],
  [["trades", "--watch", "--follow"], "option '-w, --watch' cannot be used with option '-f, --follow'"],
  [
    ["orders", "--follow", "--until", "2024-01-01"],
    "option '--until <time>' cannot be used with option '-f, --follow'",
  ],
  [["orders", "--party", "0123"], 'no party has the ID "0123"'],
  [["orders", "--party", "somebody"], 'no party has the ID "somebody"'],
])("%j is bad usage", async (args, message) => {
  const { code, out, err } = await run([...args, "--grpc-url", node.grpcUrl]);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain(`tradewire: ${message}`);
});
