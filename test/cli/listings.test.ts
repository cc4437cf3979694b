import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run, startCommand } from "../support/command.js";
import { gate } from "../support/gate.js";
import { serveNode, unanswered } from "../support/node.js";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
});
afterAll(() => node.close());

describe.each(["grpc", "rest"] as const)("over %s", (transport) => {
  const ask = (...args: string[]) =>
    run([...args, "--transport", transport, `--${transport}-url`, transport === "grpc" ? node.grpcUrl : node.restUrl]);

  const askOnTerminal = (...args: string[]) => {
    const to = ["--transport", transport, `--${transport}-url`, transport === "grpc" ? node.grpcUrl : node.restUrl];
    return run([...args, ...to], { terminal: { columns: 60, rows: 10 }, environment: { NO_COLOR: "1" } });
  };

  it("params prints all parameters, one, or those of a pattern", async () => {
    const lines = await ask("params", "spam.pow.d*");
    expect(lines.out).toBe('{"key":"spam.pow.difficulty","value":"15"}\n');
    const all = await ask("params", "--output", "table");
    expect(all).toMatchObject({ code: 0, err: "" });
    expect(all.out.split("\n").length).toBeGreaterThan(100);
    expect(all.out).toMatch(/^key +value\nblockchains\.ethereumConfig +\{/);
    const one = await ask("params", "snapshot.interval.length", "--json");
    expect(JSON.parse(one.out)).toEqual({ networkParameters: [{ key: "snapshot.interval.length", value: "10" }] });
    const some = await ask("params", "spam.p?w.*", "--output", "csv");
    expect(some.out).toBe(
      "key,value\nspam.pow.difficulty,15\nspam.pow.hashFunction,sha3_24_rounds\nspam.pow.increaseDifficulty,1\n" +
        "spam.pow.numberOfPastBlocks,100\nspam.pow.numberOfTxPerBlock,2\n",
    );
    expect((await ask("params", "spam.pow.d*", "--columns", "value")).out).toBe('{"value":"15"}\n');
    expect(await ask("params", "spam.pow.dificulty")).toEqual({
      code: 2,
      out: "",
      err: 'tradewire: the network has no parameter "spam.pow.dificulty"\nDid you mean spam.pow.difficulty? `tradewire params` lists all.\n',
    });
    expect((await ask("params", "no.such.key")).err).toMatch(/"no\.such\.key"\n`tradewire params` lists all\.\n$/);
  });

  it("stop-orders prints a table", async () => {
    const { code, out } = await ask("stop-orders", "--limit", "3", "-o", "table");
    expect(code).toBe(0);
    const [header, ...rows] = out
      .trimEnd()
      .split("\n")
      .map((line) => line.trim());
    expect(header).toMatch(/^id +market +status +triggerDirection +price /);
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      expect(row).toMatch(/^[0-9a-f]{8}… +M\d+ +[A-Z]+ +(RISES_ABOVE|FALLS_BELOW) /);
      expect(row).toMatch(/ 2023-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z /);
      expect(row).not.toContain("STATUS_");
    }
    const chosen = await ask("stop-orders", "--limit", "1", "--columns", "id,status", "-o", "csv");
    expect(chosen.out).toMatch(/^id,status\n[0-9a-f]{64},[A-Z]+\n$/);
    const wide = await ask("stop-orders", "--limit", "1", "--wide", "-o", "table");
    expect(wide.out).toMatch(/\n[0-9a-f]{64} /);
  });

  it("stop-orders shows prices and sizes in the decimals of the market", async () => {
    const { stopOrders } = JSON.parse((await ask("stop-orders", "--limit", "200", "--json")).out);
    const { stopOrders: sent } = JSON.parse((await ask("stop-orders", "--limit", "200", "--json", "--raw")).out);
    const markets = (await ask("markets", "--settled", "--output", "jsonl")).out.trimEnd().split("\n");
    const decimalsOf = new Map(
      markets.map((line) => JSON.parse(line)).map((market) => [market.id, Number(market.decimalPlaces)]),
    );
    const at = sent.findIndex(({ price }: { price?: string }) => price !== undefined);
    const [first, raw] = [stopOrders[at], sent[at]];
    const { marketId, id } = first;
    const decimals = decimalsOf.get(marketId) ?? 0;
    expect(decimals).toBeGreaterThan(0);
    expect([raw.id, raw.status]).toEqual([id, `STATUS_${first.status}`]);
    expect(Number(first.price)).toBe(Number(raw.price) / 10 ** decimals);
    expect(Number(first.submission.price)).toBe(Number(raw.submission.price) / 10 ** decimals);
    const table = (await ask("stop-orders", id, "--wide", "--output", "table")).out;
    const [, row = ""] = table.split("\n");
    expect(row).toMatch(new RegExp(`^${id} .* ${first.price} .* ${first.submission.size} `));
  });

  it("stop-orders of a node that offers nothing else lacks the numbers, says so, and has them as the node sends them with --raw", async () => {
    const marketId = "0b".repeat(32);
    const stopOrder = { id: "0a".repeat(32), marketId, trigger: { case: "price", value: "12345" } } as const;
    const record = { stopOrder, submission: { marketId, price: "12300", size: 7n } };
    await using bare = await serveNode({
      listStopOrders: () => ({ orders: { edges: [{ cursor: "1", node: record }], pageInfo: {} } }),
    });
    const url = transport === "grpc" ? bare.grpcUrl : bare.restUrl;
    const list = (...args: string[]) =>
      run(["stop-orders", ...args, "--transport", transport, `--${transport}-url`, url]);
    const outcome = await list("-o", "jsonl");
    expect(outcome.code).toBe(0);
    expect(JSON.parse(outcome.out)).toMatchObject({ price: null, submission: { price: null, size: null } });
    expect(outcome.err).toMatch(
      /^tradewire: the decimals of market 0b0b0b0b… cannot be loaded: .*; its prices and sizes are left out\. Use --raw /,
    );
    const raw = await list("--raw", "-o", "table");
    expect(raw.err).toBe("");
    expect(raw.out).toMatch(/ 12345 +SIDE_UNSPECIFIED +12300 +7 /);
  });

  it("stop-orders takes every filter", async () => {
    const pending = await ask("stop-orders", "--limit", "1", "--status", "pending", "--json", "--raw");
    const { stopOrders } = JSON.parse(pending.out);
    const { createdAt, partyId, marketId } = stopOrders[0];
    const filtered = await ask(
      ...["stop-orders", "--status", "PENDING", "--status", "STATUS_EXPIRED", "--party", partyId, "--market", marketId],
      ...["--since", createdAt, "--until", String(BigInt(createdAt) + 1n), "--live", "--output", "jsonl", "--raw"],
    );
    expect(
      filtered.out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toContainEqual(stopOrders[0]);
    const none = await ask("stop-orders", "--since", "2030-01-01", "--json", "--expiry-strategy", "submit");
    expect(JSON.parse(none.out)).toEqual({ stopOrders: [] });
    expect(await ask("stop-orders", "--since", "2030-01-01", "-o", "table")).toEqual({
      code: 0,
      out: "",
      err: "No stop orders match.\n",
    });
  });

  it("params as CSV that breaks off ends inside an open quote", async () => {
    let isBroken = true;
    const asked = gate();
    await using node = await serveNode({
      listNetworkParameters({ pagination }, call) {
        if (isBroken) {
          throw new ConnectError("no parameters", Code.DataLoss);
        }
        if (pagination?.after === undefined) {
          const edges = [{ cursor: "1", node: { key: "a", value: "1" } }];
          return { networkParameters: { edges, pageInfo: { hasNextPage: true, endCursor: "1" } } };
        }
        asked.open();
        return unanswered(undefined, call);
      },
    });
    const to = ["--transport", transport, `--${transport}-url`, transport === "grpc" ? node.grpcUrl : node.restUrl];
    expect(await run(["params", "-o", "csv", ...to])).toMatchObject({ code: 1, out: '\n"' });
    isBroken = false;
    const { interrupt, ended } = startCommand(["params", "-o", "csv", ...to]);
    await asked.promise;
    interrupt("SIGINT");
    expect(await ended).toEqual({ code: 130, out: 'key,value\na,1\n"', err: "" });
  });

  it("stop-orders writes CSV as it comes", async () => {
    const { out } = await ask("stop-orders", "--output", "csv", "--limit", "1500");
    expect(out).toMatch(/^submission\.marketId,.*,id,.*,trailingPercentOffset,market\n/);
    expect(out.match(/,(PENDING|CANCELLED|STOPPED|TRIGGERED|EXPIRED|REJECTED),\d{4}-/g)).toHaveLength(1500);
  });

  it("stop-orders shows those that are named, by an ID or the start of one", async () => {
    const { stopOrders } = JSON.parse((await ask("stop-orders", "--limit", "2", "--json")).out);
    const [{ id, partyId }, other] = stopOrders;
    expect(JSON.parse((await ask("stop-orders", id, "--json")).out)).toEqual({ stopOrders: [stopOrders[0]] });
    const both = await ask("stop-orders", other.id.slice(0, 10), id.toUpperCase(), "--json");
    expect(JSON.parse(both.out)).toEqual({ stopOrders: stopOrders.toReversed() });
    const shown = await ask("stop-orders", id, "--wide", "-o", "table");
    expect(shown.out).toMatch(new RegExp(`\n${id} `));
    // Nothing of a record is shortened with --wide, however narrow the terminal is.
    const narrow = (await askOnTerminal("stop-orders", id, "--wide")).out;
    expect(narrow).toContain(`  ${partyId}\n`);
    expect(narrow).toMatch(/\ncreatedAt +2023-10-19T08:00:(0[1-9]|10)\.\d+Z\n/);
    const missing = await ask("stop-orders", "0123456789", "--party", partyId);
    expect(missing).toMatchObject({ code: 2, out: "", err: expect.stringContaining('no stop order has the ID "0') });
  });
});

it.each([
  [["stop-orders", "--status", "frozen"], /^tradewire: --status must be one of /],
  [["stop-orders", "--since", "yesterday"], /^tradewire: --since must be ISO 8601, /],
  [["stop-orders", "--since", "2024-01-02", "--until", "2024-01-01"], /^tradewire: the date range is empty/],
  [["stop-orders", "--limit", "0"], /^tradewire: --limit must be a positive whole number \(got "0"\)/],
  [["stop-order"], /^tradewire: unknown command 'stop-order'\nDid you mean stop-orders\?/],
])("%j is bad usage", async (args, message) => {
  const { code, out, err } = await run(args);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toMatch(message);
});

it("options that exclude each other are bad usage, told as JSON where that is asked for", async () => {
  const { code, out, err } = await run(["stop-orders", "--json", "--output", "csv"]);
  expect([code, err]).toEqual([2, ""]);
  expect(JSON.parse(out)).toMatchObject({ error: { message: expect.stringContaining("cannot be used with option") } });
});
