// The times of docs/configuration.md, "Idle streams" and "Idle connections", over connections whose other end is real.
import { constants } from "node:http2";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { type ClientConfig, ConnectionError, createClient } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { eventually } from "../../support/eventually.js";
import { startNat } from "../../support/nat.js";
import { serveNode } from "../../support/node.js";
import { envelope, serveStreams, type TestServer } from "../../support/servers.js";
import { startStallingProxy } from "../../support/stalling-proxy.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../support/virtual-runtime.js";

let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime({ io: true });
});
const closing: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) {
    await each.close();
  }
  runtime[Symbol.dispose]();
});

/** A server whose streams are silent after their first message, and the times of the pings that it receives. */
async function serveSilent(): Promise<TestServer & { readonly pings: number[] }> {
  const pings: number[] = [];
  const server = await serveStreams(
    (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
      stream.write(envelope(new Uint8Array()));
    },
    {},
    (session) => session.on("ping", () => pings.push(runtime.monotonicMs())),
  );
  closing.push(server);
  return { ...server, pings };
}

function observing(url: string, keepaliveMs?: number) {
  const client = createClient({ transport: "grpc", grpc: { url, keepaliveMs } });
  closing.push(client);
  return () => client.service(TradingDataService).observeMarketsData({})[Symbol.asyncIterator]();
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );

it.each([
  { name: "by default", keepaliveMs: undefined, everyMs: 310_000, replyMs: 15_000 },
  { name: "with a short time", keepaliveMs: 6000, everyMs: 6000, replyMs: 6000 },
])("a silent stream is pinged, and lost without a reply: $name", async ({ keepaliveMs, everyMs, replyMs }) => {
  const server = await serveSilent();
  await using proxy = await startStallingProxy(server.url);
  const stream = observing(proxy.url, keepaliveMs)();
  await runtime.until(stream.next());
  const startedAt = runtime.monotonicMs();
  const ended = failureOf(stream.next());
  await runtime.pass(2 * everyMs + 1);
  const pings = server.pings.map((at) => at - startedAt);
  // Up to two more check whether a connection is alive on which bytes have come.
  const afterBytes = pings.filter((at) => at % everyMs !== 0);
  expect(pings.filter((at) => at % everyMs === 0)).toEqual([everyMs, 2 * everyMs]);
  expect(afterBytes.length).toBeLessThanOrEqual(2);
  expect(afterBytes[0]).toBeGreaterThanOrEqual(2000);
  expect(afterBytes[0]).toBeLessThanOrEqual(4000);
  proxy.stall();
  expect(await runtime.until(ended)).toBeInstanceOf(ConnectionError);
  expect(runtime.monotonicMs() - startedAt).toBe(3 * everyMs + replyMs);
});

it("no pings are more than two hours apart, however often a server finds them too many", async () => {
  const server = await serveSilent();
  const everyMs = 5_000_000;
  const open = observing(server.url, everyMs);
  for (const intervalMs of [everyMs, 7_200_000]) {
    const stream = open();
    await runtime.until(stream.next());
    const ended = failureOf(stream.next());
    await runtime.pass(5000); // The ping that follows the first bytes.
    server.pings.length = 0;
    runtime.skip(intervalMs - 5001);
    await runtime.pass(0);
    expect(server.pings).toEqual([]);
    await runtime.pass(1);
    expect(server.pings).toHaveLength(1);
    const session = server.sessions.at(-1);
    session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    setImmediate(() => session?.destroy());
    expect(await ended).toBeInstanceOf(ConnectionError);
  }
});

/** A node behind a NAT, and a client that has called it. */
async function called(timeouts: ClientConfig["timeouts"]) {
  const node = await serveNode({ info: () => ({ version: "v0.78.0" }) });
  const nat = await startNat(node.grpcUrl);
  const client = createClient({ transport: "grpc", grpc: { url: nat.url }, timeouts, retry: { tries: 1 } });
  closing.push(node, { close: async () => nat[Symbol.asyncDispose]() }, client);
  const call = (timeoutMs?: number) =>
    client.service(TradingDataService).info({}, timeoutMs === undefined ? {} : { timeoutMs });
  await runtime.until(call());
  return { node, nat, call };
}

it.each([
  { connectMs: 4000, replyMs: 2000 },
  { connectMs: 60_000, replyMs: 15_000 },
])("a forgotten connection that was idle for a minute costs %p", async ({ connectMs, replyMs }) => {
  const { nat, call } = await called({ connectMs });
  await runtime.pass(60_000);
  nat.forget();
  const startedAt = runtime.monotonicMs();
  await runtime.until(call());
  expect(runtime.monotonicMs() - startedAt).toBe(replyMs);
  expect(nat.count()).toBe(2);
});

it("a connection on which a call has received nothing has a second to reply before the next one", async () => {
  const { nat, call } = await called({});
  nat.forget();
  expect(await failureOf(runtime.until(call(250)))).toBeInstanceOf(ConnectionError);
  const startedAt = runtime.monotonicMs();
  await runtime.until(call());
  expect(runtime.monotonicMs() - startedAt).toBe(1000);
  expect(nat.count()).toBe(2);
});

it("a connection without calls is not pinged, and is closed after fifteen minutes", async () => {
  const server = await serveSilent();
  const stream = observing(server.url, 60_000)();
  await runtime.until(stream.next());
  await stream.return?.();
  const [session] = server.sessions;
  await runtime.pass(15 * 60_000 - 1);
  expect(session?.closed).toBe(false);
  await runtime.pass(60_002);
  await eventually(() => session?.closed === true);
  expect(server.pings).toEqual([]);
});
