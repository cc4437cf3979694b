import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, signerFromMnemonic } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { Market_State } from "tradewire/gen/vega/markets_pb.js";
import { eventually } from "../support/eventually.js";
import { usedMemory } from "../support/memory.js";
import { openPlainSocket, type PlainSocket } from "../support/plain-socket.js";
import { isFull } from "../support/tier.js";

const BUS = "/api/v2/stream/event/bus";
const OBSERVE = "datanode.api.v2.TradingDataService/ObserveEventBus";
const small = { segments: 1, blocksPerSegment: 10, blockMs: 0 } as const;

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ ...small, activity: 1 });
});
afterAll(() => node.close());

/** Open the bus and subscribe. */
async function subscribed(path: string, request: object, to = node): Promise<PlainSocket> {
  const socket = await openPlainSocket(to.restUrl, path);
  socket.send(request);
  await socket.caughtUp();
  return socket;
}

describe("the event bus", () => {
  it.each([
    [BUS, { id: "H-1", type: 49, version: 1, beginBlock: { height: "H" } }],
    ["/stream/event/bus", { id: "H-1", type: "BUS_EVENT_TYPE_BEGIN_BLOCK", version: 1, beginBlock: { height: "H" } }],
  ])("is at %s", async (path, expected) => {
    const socket = await subscribed(path, { type: ["BUS_EVENT_TYPE_BEGIN_BLOCK"], batchSize: 0, ignored: true });
    const height = await node.makeBlock();
    const event = JSON.parse(JSON.stringify(expected).replaceAll("H", String(height)));
    expect(await socket.next()).toMatchObject({ result: { events: [{ chainId: node.chainId, ...event }] } });
    socket.socket.close();
    await socket.closed;
  });

  it("gives batches, each behind a request", async () => {
    const socket = await subscribed(BUS, { type: [49, 50], batchSize: "2" });
    const first = await node.makeBlock();
    await node.makeBlock();
    const ids = async () => JSON.stringify(await socket.next()).match(/\d+-\d+(?=")/g);
    expect(await ids()).toEqual([`${first}-1`, expect.stringMatching(`^${first}-`)]);
    socket.send({ batchSize: 1 });
    expect(await ids()).toEqual([`${first + 1n}-1`]);
    socket.socket.terminate();
  });

  it("ends without a word where no first request comes, and with an error where none follows a batch", async () => {
    const silent = await openPlainSocket(node.restUrl, BUS);
    const batches = await subscribed("/stream/event/bus", { type: [49], batchSize: 1 });
    await node.makeBlock();
    expect(await batches.next()).toHaveProperty("result");
    expect(await batches.next()).toMatchObject({ error: { code: 13 } });
    expect(await batches.next()).toBeUndefined();
    expect(await silent.next()).toBeUndefined();
    expect(await Promise.all([silent.closed, batches.closed])).toEqual([1006, 1006]);
  });

  it.each([
    ["no JSON", "{nope", []],
    ["no request", '{"batchSize":"many"}', []],
    ["a name twice", '{"batchSize":1,"batchSize":2}', []],
    ["a number that is not decimal", '{"batchSize":"0x1"}', []],
    // v0.78.0, core/api/core.go, ObserveEventBus: the error of `ErrMalformedRequest`, 10015 in core/api/errors.go.
    [
      "a type that there is not",
      '{"type":[99]}',
      [
        {
          "@type": "type.googleapis.com/vega.ErrorDetail",
          code: 10015,
          message: "malformed request",
          inner: "invalid event type",
        },
      ],
    ],
  ])("answers %s with an error, and ends", async (_, frame, details) => {
    const socket = await openPlainSocket(node.restUrl, BUS);
    socket.socket.send(frame);
    expect(await socket.next()).toMatchObject({ error: { code: 3, message: expect.any(String), details } });
    expect(await socket.closed).toBe(1006);
  });

  it("answers a later frame that is no request so, too", async () => {
    const socket = await subscribed(BUS, { type: [49] });
    await node.makeBlock();
    expect(await socket.next()).toHaveProperty("result");
    socket.socket.send("nope");
    expect(await socket.next()).toMatchObject({ error: { code: 3 } });
    expect(await socket.closed).toBe(1006);
  });

  it("ends with a line of more than 64 KiB, and not before", async () => {
    const sizes = async (...batchSizes: number[]) => {
      const sockets = await Promise.all(batchSizes.map((batchSize) => subscribed(BUS, { type: [49], batchSize })));
      for (let made = 0; made < Math.max(...batchSizes); made += 1) {
        await node.makeBlock();
      }
      const frames = await Promise.all(sockets.map((socket) => socket.next()));
      for (const { socket } of sockets) {
        socket.terminate();
      }
      return frames.map((frame) => (frame === undefined ? "ended" : JSON.stringify(frame).length));
    };
    // Each of these events has some 350 bytes.
    const [one, eleven] = await sizes(1, 11);
    const bytes = (Number(eleven) - Number(one)) / 10;
    const most = Math.floor(65_535 / bytes);
    expect(await sizes(most - 2, most + 2)).toEqual([expect.any(Number), "ended"]);
  });

  it("answers pings however many requests come, and sends none", async () => {
    const socket = await subscribed(BUS, { type: [49] });
    let pings = 0;
    socket.socket.on("ping", () => {
      pings += 1;
    });
    for (let sent = 0; sent < 200; sent += 1) {
      socket.send({ batchSize: sent });
    }
    await socket.caughtUp();
    await node.makeBlock();
    expect(await socket.next()).toHaveProperty("result");
    expect(pings).toBe(0);
    socket.socket.terminate();
  });
});

describe("other paths", () => {
  it("that stream answers alone take their request from the query, and ignore frames", async () => {
    const socket = await openPlainSocket(node.restUrl, "/api/v2/stream/transaction-results?status=false");
    for (let sent = 0; sent < 50; sent += 1) {
      socket.socket.send("nothing");
    }
    await socket.caughtUp();
    await using client = createClient({ transport: "rest", rest: { url: node.restUrl } });
    const signer = await signerFromMnemonic(node.mnemonic);
    const { markets } = await client.service(TradingDataService).listMarkets({});
    const marketId = markets?.edges.find(({ node: market }) => market?.state === Market_State.ACTIVE)?.node?.id ?? "";
    const value = { orderId: "a".repeat(64), marketId };
    const { txHash } = await client.sendCommand({ case: "orderCancellation", value }, { signer });
    await node.makeBlock();
    expect(await socket.next()).toMatchObject({
      result: { transactionResults: [{ hash: txHash.toLowerCase(), partyId: signer.publicKey, statusDetail: 3 }] },
    });
    socket.socket.terminate();
  });

  it.each([
    ["/no/such/path", 5],
    ["/api/v2/info", 12],
    ["/api/v2/stream/markets/depth?marketIds=x", 13], // No such market: INTERNAL, as for datanode/api/trading_data_v2.go.
    ["/api/v2/stream/transaction-results?status=perhaps", 3],
  ])("%s is upgraded, and answered with an error", async (path, code) => {
    const socket = await openPlainSocket(node.restUrl, path);
    expect(await socket.next()).toMatchObject({ error: { code } });
    expect(await socket.closed).toBe(1006);
  });

  it("take a token as a subprotocol", async () => {
    const socket = await openPlainSocket(node.restUrl, BUS, ["Bearer", "token"]);
    expect(socket.protocol).toBe("Bearer");
    socket.socket.terminate();
  });
});

describe("what was asked for happens", () => {
  it("an error of the call is a frame", async () => {
    node.failNext({ method: OBSERVE, with: "UNAVAILABLE" });
    const socket = await openPlainSocket(node.restUrl, BUS);
    expect(await socket.next()).toMatchObject({ error: { code: 14, message: "injected by failNext" } });
    expect(await socket.closed).toBe(1006);
  });

  it.each([
    [0, 0],
    [1000, 2],
  ])("the socket is cut after %d bytes, behind %d frames", async (afterBytes, frames) => {
    node.failNext({ method: OBSERVE, with: "cut", afterBytes });
    const socket = await openPlainSocket(node.restUrl, BUS);
    socket.send({ type: [49] });
    await Promise.race([socket.caughtUp(), socket.closed]);
    const next = async () => {
      await node.makeBlock();
      return socket.next();
    };
    let seen = 0;
    while ((await next()) !== undefined) {
      seen += 1;
    }
    expect(seen).toBe(frames);
    expect(await socket.closed).toBe(1006);
  });

  it("the socket falls silent, and stays open", async () => {
    node.failNext({ method: OBSERVE, with: "stall", afterBytes: 0 });
    const socket = await openPlainSocket(node.restUrl, BUS);
    socket.send({ type: [49] });
    const other = await subscribed(BUS, { type: [49] });
    await node.makeBlock();
    expect(await Promise.race([socket.next(), other.next().then(() => "silent")])).toBe("silent");
    other.socket.terminate();
    expect(socket.socket.readyState).toBe(socket.socket.OPEN);
    socket.socket.terminate();
  });
});

it("counts as one request of an address, and is refused beyond the limit", async () => {
  await using limited = await startDevnode({ ...small, rateLimit: { burst: 2, perSecond: 0.001 } });
  const first = await subscribed(BUS, { type: [49] }, limited);
  for (let sent = 0; sent < 10; sent += 1) {
    first.send({});
  }
  await openPlainSocket(limited.restUrl, "/api/v2/stream/trades");
  await expect(openPlainSocket(limited.restUrl, BUS)).rejects.toThrow("429");
  const refused = await fetch(`${limited.restUrl}/health`);
  expect(refused.status).toBe(429);
  await limited.makeBlock();
  expect(await first.next()).toHaveProperty("result");
});

it("ends with the node, at once", async () => {
  const other = await startDevnode(small);
  const sockets = await Promise.all([
    subscribed(BUS, { type: [49] }, other),
    openPlainSocket(other.restUrl, BUS),
    openPlainSocket(other.restUrl, "/api/v2/stream/trades"),
  ]);
  await other.close();
  expect(await Promise.all(sockets.map(({ closed }) => closed))).toEqual([1006, 1006, 1006]);
});

it("is no longer open where the client leaves", async () => {
  await using client = createClient({ transport: "rest", rest: { url: node.restUrl } });
  const open = async () => (await client.service(CoreService).statistics({})).statistics?.tradeSubscriptions;
  const before = (await open()) ?? 0;
  const sockets = [
    await openPlainSocket(node.restUrl, "/api/v2/stream/trades"),
    await openPlainSocket(node.restUrl, "/api/v2/stream/trades"),
  ];
  await Promise.all(sockets.map((socket) => socket.caughtUp()));
  expect(await open()).toBe(before + 2);
  sockets[0]?.socket.close();
  sockets[1]?.socket.terminate();
  await Promise.all(sockets.map(({ closed }) => closed));
  await eventually(async () => (await open()) === before);
});

const itWithMuchData = isFull() ? it : undefined;
itWithMuchData?.("does not hold what clients do not read, and leaves them when they read too late", async () => {
  await using busy = await startDevnode({ ...small, activity: 50 });
  const types = { type: ["ORDER", "TRADE", "ACCOUNT"].map((name) => `BUS_EVENT_TYPE_${name}`) };
  const sockets = await Promise.all(Array.from({ length: 4 }, () => subscribed(BUS, types, busy)));
  for (const { socket } of sockets) {
    socket.pause();
  }
  const make = async (blocks: number) => {
    for (let made = 0; made < blocks; made += 1) {
      await busy.makeBlock();
      await turn();
    }
    return usedMemory();
  };
  const before = await make(20);
  const after = await make(25);
  // What comes in these blocks has some 12 MB for each socket; the node itself grows by half of the limit.
  expect(after - before).toBeLessThan(30_000_000);
  for (const { socket } of sockets) {
    socket.resume();
  }
  for (const { next, closed } of sockets) {
    for (let frame = await next(); frame !== undefined; frame = await next()) {
      expect(frame).toHaveProperty("result");
    }
    expect(await closed).toBe(1006);
  }
});

it("what asks to become something else is answered as if it did not ask", async () => {
  const { port, hostname } = new URL(node.restUrl);
  const connection = connect(Number(port), hostname);
  const lines = ["GET /health HTTP/1.1", `host: ${hostname}`, "connection: Upgrade, HTTP2-Settings", "upgrade: h2c"];
  connection.write(`${lines.join("\r\n")}\r\nhttp2-settings: AAMAAABk\r\n\r\n`);
  let text = "";
  for await (const piece of connection) {
    text += piece;
  }
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text).toMatch(/ok/);
});
