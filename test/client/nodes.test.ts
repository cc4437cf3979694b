import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { createGrpcTransport as createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "@jest/globals";
import {
  BannedError,
  type Client,
  ConnectionError,
  createClient,
  fallback,
  type NodeChange,
  OutcomeUnknownError,
  RequestError,
} from "tradewire";
import { CoreService, TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { createGrpcTransport } from "tradewire/transport";
import { startBreakingProxy } from "../support/breaking-proxy.js";
import { eventually } from "../support/eventually.js";
import { startForwarder } from "../support/forwarder.js";
import { freePort } from "../support/free-port.mjs";
import { serveNode, serveNodeOf, unanswered } from "../support/node.js";
import { craft } from "../support/transactions.js";
import { nodeRuntime, useRuntime, useVirtualRuntime } from "../support/virtual-runtime.js";

/** What a node says, and the error with which it fails instead. */
interface Says {
  chainId: string;
  height: bigint;
  behindCoreMs: number;
  fails: ConnectError | undefined;
  /** With what it answers instead of its chain and height. */
  failsCheck: Code | undefined;
  /** What it waits for before it says its chain and height; `null` if it never does. */
  after: Promise<unknown> | null | undefined;
}

/** A node that says what it is told to say, and counts what it is asked. */
async function saying(what: Partial<Says> = {}) {
  const says: Says = {
    chainId: "chain-1",
    height: 1000n,
    behindCoreMs: 0,
    fails: undefined,
    failsCheck: undefined,
    after: undefined,
    ...what,
  };
  const calls = { parameters: 0, submitted: 0, heights: 0 };
  const now = () => BigInt(Date.now()) * 1_000_000n;
  const node = await serveNode(
    {
      getVegaTime: () => ({ timestamp: now() - BigInt(says.behindCoreMs) * 1_000_000n }),
      info: () => ({ version: "v0.78.0", commitHash: "abc" }),
      getNetworkParameter({ key }) {
        calls.parameters += 1;
        if (says.fails !== undefined) {
          throw says.fails;
        }
        return { networkParameter: { key, value: String(says.height) } };
      },
    },
    {
      getVegaTime: () => ({ timestamp: now() }),
      async lastBlockHeight(request, context) {
        calls.heights += 1;
        await (says.after === null ? unanswered(request, context) : says.after);
        if (says.failsCheck !== undefined) {
          throw new ConnectError("not now", says.failsCheck);
        }
        return { chainId: says.chainId, height: says.height, hash: "ab".repeat(32) };
      },
      async submitTransaction(_, context) {
        calls.submitted += 1;
        if (says.fails !== undefined) {
          throw says.fails;
        }
        return await unanswered(_, context);
      },
    },
  );
  return Object.assign(node, { says, calls });
}

const nobody = async () => `http://127.0.0.1:${await freePort()}`;
const read = (client: Client, timeoutMs?: number) =>
  client.service(TradingDataService).getNetworkParameter({ key: "a.b" }, timeoutMs === undefined ? {} : { timeoutMs });

/** Another host: nodes limit the calls of an address. */
const elsewhere = (url: string) => url.replace("127.0.0.1", "localhost");

/** Signs a transaction for the nodes' block. */
const crafted = () =>
  craft({
    block: {
      chainId: "chain-1",
      height: 1000n,
      hash: "ab".repeat(32),
      difficulty: 1,
      hashFunction: "sha3_24_rounds",
    },
  });

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );

/** A failed call by which a node refuses all calls of an address for ten minutes. */
const refusal = new ConnectError("too many", Code.ResourceExhausted, {
  "ratelimit-limit": "20",
  "ratelimit-remaining": "0",
  "ratelimit-reset": "600",
});
const ban = new ConnectError("banned", Code.PermissionDenied, { "retry-after": "600" });

describe("several nodes", () => {
  it.each(["grpc", "rest", "grpc-js"] as const)(
    "are called in order over %s, without those that are down",
    async (transport) => {
      await using up = await saying();
      const url = [await nobody(), transport === "rest" ? up.restUrl : up.grpcUrl];
      const endpoints = transport === "rest" ? { rest: { url } } : { grpc: { url } };
      const fallbacks: string[] = [];
      await using client = createClient(
        { ...endpoints, transport },
        { hooks: { onFallback: ({ from, to }) => fallbacks.push(`${from} > ${to}`) } },
      );
      for (let count = 0; count < 5; count += 1) {
        expect((await read(client)).networkParameter?.value).toBe("1000");
      }
      // The node that is down is left alone after its first failure.
      expect(fallbacks).toEqual([`${transport} ${url[0]} > ${transport} ${url[1]}`]);
      expect(up.calls.parameters).toBe(5);
    },
  );

  it.each(["grpc", "rest", "auto"] as const)(
    "is not used if it is the only one, and on another chain, over %s, until it is on the right one",
    async (transport) => {
      await using node = await saying();
      const urls = { grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
      await using client = createClient({ ...urls, transport, chainId: "chain-2" });
      for (const call of [() => read(client), () => client.listSegments()]) {
        await expect(call()).rejects.toMatchObject({
          name: "RequestError",
          errorCode: "TW_CHAIN_MISMATCH",
          summary: 'the node is on chain "chain-1", not on "chain-2"',
        });
      }
      expect(node.calls.parameters).toBe(0);
      node.says.chainId = "chain-2";
      await eventually(async () => (await read(client).catch(() => undefined)) !== undefined);
      const { heights } = node.calls;
      await read(client);
      expect(node.calls.heights).toBe(heights);
    },
  );

  it("are not used if they are on another chain, and reported", async () => {
    await using other = await saying({ chainId: "chain-2", height: 5000n }); // It makes nobody of chain-1 look late.
    await using right = await saying();
    const changes: NodeChange[] = [];
    await using client = createClient(
      { chainId: "chain-1", grpc: { url: [other.grpcUrl, right.grpcUrl] } },
      { hooks: { onNodeChange: (change) => changes.push(change) } },
    );
    await Promise.all([read(client), read(client)]);
    await read(client);
    expect([other.calls.parameters, right.calls.parameters]).toEqual([0, 3]);
    expect(other.calls.heights).toBe(1); // A node that answers is checked with the others, not at each call.
    const refusal = "it is on chain chain-2, not on chain-1";
    expect(changes).toEqual([{ name: `grpc ${other.grpcUrl}`, url: other.grpcUrl, refusal }]);
    expect(await client.status()).toMatchObject([
      { url: other.grpcUrl, state: "other chain", refusal, chainId: "chain-2" },
      { url: right.grpcUrl, state: "usable", chainId: "chain-1", height: 1000n, behindBlocks: 0, version: "v0.78.0" },
    ]);
    other.says.failsCheck = Code.Internal; // A check that fails once does not change what is known.
    expect(await client.status()).toMatchObject([{ state: "other chain", refusal }, { state: "usable" }]);
    expect(await client.status()).toMatchObject([
      { state: "failing", error: { code: Code.Internal } },
      { state: "usable" },
    ]);
    await read(client);
    expect(other.calls.parameters).toBe(0);
  });

  it("are those of the first node's chain, where the configuration names none", async () => {
    await using first = await saying();
    await using other = await saying({ chainId: "chain-2" });
    await using client = createClient({
      rest: { url: [first.restUrl, other.restUrl] },
      fallback: { strategy: "round-robin" },
    });
    await Promise.all([read(client), read(client), read(client)]);
    expect([first.calls.parameters, other.calls.parameters]).toEqual([3, 0]);
  });

  it("fail if none can be used, and the error says why each is not", async () => {
    await using other = await saying({ chainId: "chain-2" });
    const url = [other.grpcUrl, await nobody()];
    await using client = createClient({ chainId: "chain-1", grpc: { url }, retry: { tries: 1 } });
    const error = await read(client).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ connected: false, summary: expect.stringContaining("not on chain-1") });
    expect(error).toMatchObject({ summary: expect.stringContaining("the connection was refused") });
    expect(other.calls.parameters).toBe(0);
  });

  it("are not used while they are behind the others, and are used again", async () => {
    await using behind = await saying({ height: 979n });
    await using ahead = await saying();
    const changes: (string | undefined)[] = [];
    await using client = createClient(
      { grpc: { url: [behind.grpcUrl, ahead.grpcUrl] }, fallback: { maxLagBlocks: 20 } },
      { hooks: { onNodeChange: ({ refusal }) => changes.push(refusal) } },
    );
    await read(client);
    expect([behind.calls.parameters, ahead.calls.parameters]).toEqual([0, 1]);
    behind.says.height = 980n;
    await client.status(); // Checks all of them.
    await read(client);
    expect([behind.calls.parameters, ahead.calls.parameters]).toEqual([1, 1]);
    expect(changes).toEqual(["it is 21 blocks behind", undefined]);
  });

  it("are not used if their data node is behind its core", async () => {
    await using stopped = await saying({ behindCoreMs: 60_000 });
    await using right = await saying();
    await using client = createClient({ grpc: { url: [stopped.grpcUrl, right.grpcUrl] } });
    await read(client);
    expect([stopped.calls.parameters, right.calls.parameters]).toEqual([0, 1]);
    expect(await client.status()).toMatchObject([
      { state: "behind", refusal: "its data node lags its core by 60 s", lag: { state: "lagging" } },
      { state: "usable" },
    ]);
  });

  it("are not excluded by one that claims too many blocks", async () => {
    await using honest = await saying();
    await using liar = await saying({ height: 2n ** 60n });
    await using other = await saying({ height: 1001n });
    await using client = createClient({ grpc: { url: [honest.grpcUrl, liar.grpcUrl, other.grpcUrl] } });
    await read(client);
    expect(honest.calls.parameters).toBe(1);
  });

  it("are used without a check if they do not offer the method for it", async () => {
    await using hiding = await saying({ failsCheck: Code.Unimplemented });
    await using foreign = await serveNodeOf(() => undefined, []);
    await using right = await saying();
    const clients = [
      createClient({ chainId: "chain-1", grpc: { url: [hiding.grpcUrl, right.grpcUrl] } }),
      createClient({ chainId: "chain-1", grpc: { url: [foreign.grpcUrl, right.grpcUrl] } }),
    ];
    for (const client of clients) {
      await using _ = client;
      await read(client);
      expect(await client.status()).toMatchObject([
        { state: "unchecked", error: { name: expect.any(String) } },
        { state: "usable" },
      ]);
    }
    expect(hiding.calls.parameters).toBe(1);
    await using overRest = createClient({ chainId: "chain-1", rest: { url: [foreign.restUrl, right.restUrl] } });
    expect(await overRest.status()).toMatchObject([{ state: "unchecked" }, { state: "usable" }]);
  });

  it.each([{ says: { failsCheck: Code.Unimplemented } }, { says: { failsCheck: Code.NotFound } }])(
    "get a transaction after those that have answered their check, if they have not: %p",
    async ({ says }) => {
      const refused = new ConnectError("no", Code.InvalidArgument);
      await using unknown = await saying({ ...says, fails: refused });
      await using right = await saying({ fails: refused });
      const url = [unknown.grpcUrl, right.grpcUrl];
      const submit = async (client: Client) => failureOf(client.submitTransaction({ tx: await crafted() }));
      await using client = createClient({ chainId: "chain-1", grpc: { url } });
      expect(await submit(client)).toMatchObject({ code: Code.InvalidArgument });
      expect([unknown.calls.submitted, right.calls.submitted]).toEqual([0, 1]);
      await right.close();
      expect(await submit(client)).toMatchObject({ code: Code.InvalidArgument });
      expect([unknown.calls.submitted, right.calls.submitted]).toEqual([1, 1]);
    },
  );

  it("are asked for what a server that is no node says it does not have", async () => {
    await using foreign = await serveNodeOf(() => undefined, []); // A gateway without the paths of a node.
    await using right = await saying();
    const connect = (...url: string[]) => createClient({ chainId: "chain-1", rest: { url }, retry: { tries: 1 } });
    await using client = connect(foreign.restUrl, right.restUrl);
    expect((await read(client)).networkParameter?.value).toBe("1000");
    const missing = { name: "NodeError", code: Code.NotFound };
    right.says.fails = new ConnectError("no", Code.InvalidArgument);
    const submit = async (to: Client) => failureOf(to.submitTransaction({ tx: await crafted() }));
    expect(await submit(client)).toMatchObject({ code: Code.InvalidArgument });
    expect(right.calls).toMatchObject({ parameters: 1, submitted: 1 });
    await using none = connect(foreign.restUrl, elsewhere(foreign.restUrl));
    expect(await failureOf(read(none))).toMatchObject(missing);
    expect(await submit(none)).toMatchObject(missing);
    // What a node says it does not have, no other one is asked for.
    await using other = await saying();
    await using both = connect(right.restUrl, other.restUrl);
    right.says.fails = new ConnectError("no such parameter", Code.NotFound);
    expect(await failureOf(read(both))).toMatchObject(missing);
    expect(other.calls.parameters).toBe(0);
    // A node in its cooldown is asked, too.
    await right.close();
    expect(await failureOf(read(client))).toMatchObject({ name: "ConnectionError" });
    await using _forwarder = await startForwarder("127.0.0.1", Number(new URL(right.restUrl).port), other.restUrl);
    expect((await read(client)).networkParameter?.value).toBe("1000");
  });

  it.each([
    { failsCheck: Code.Unauthenticated },
    { failsCheck: Code.PermissionDenied },
    { failsCheck: Code.ResourceExhausted },
    { failsCheck: Code.Internal },
    { chainId: "" },
    { chainId: "another chain" },
    { chainId: "x".repeat(51) },
  ])("are not used if their check fails: %p", async (says) => {
    await using failing = await saying(says);
    await using right = await saying();
    const url = [failing.grpcUrl, elsewhere(right.grpcUrl)];
    await using client = createClient({ chainId: "chain-1", grpc: { url } });
    await read(client);
    expect([failing.calls.parameters, right.calls.parameters]).toEqual([0, 1]);
    expect(await client.status()).toMatchObject([{ state: "failing", error: expect.anything() }, { state: "usable" }]);
  });

  it("are not to blame for a function for headers that fails", async () => {
    await using other = await saying({ chainId: "chain-2" });
    await using right = await saying();
    let isFailing = true;
    const headers = () => {
      if (isFailing) {
        throw new Error("no token yet");
      }
      return {};
    };
    const url = [other.grpcUrl, right.grpcUrl];
    await using client = createClient({ chainId: "chain-1", grpc: { url, headers } });
    for (const call of [read(client), client.status()]) {
      const error = await failureOf(call);
      expect(error).toBeInstanceOf(RequestError);
      expect(error).toMatchObject({ headline: "the headers function failed" });
    }
    isFailing = false;
    await read(client);
    expect([other.calls.parameters, right.calls.parameters]).toEqual([0, 1]);
  });

  it("stay usable if their checks wait for the caller's function for headers until they time out", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using first = await saying();
    await using second = await saying();
    let waits = false;
    await using client = createClient({
      grpc: {
        url: [first.grpcUrl, second.grpcUrl],
        headers: () => (waits ? new Promise<never>(() => {}) : {}),
      },
    });
    await runtime.until(read(client));
    waits = true;
    expect(await runtime.until(client.status())).toMatchObject([{ state: "usable" }, { state: "usable" }]);
    expect([first, second].map(({ calls }) => calls.heights)).toEqual([1, 1]);
    waits = false;
    await runtime.until(read(client));
    expect([first, second].map(({ calls }) => calls.parameters)).toEqual([2, 0]);
  });

  it("are all checked to the end, even if one of them refuses calls for minutes", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using limiting = await saying({ fails: refusal });
    await using other = await saying();
    const changes: NodeChange[] = [];
    await using client = createClient(
      { chainId: "chain-1", grpc: { url: [limiting.grpcUrl, elsewhere(other.grpcUrl)] } },
      { hooks: { onNodeChange: (change) => changes.push(change) } },
    );
    await runtime.until(read(client));
    const startedAt = runtime.monotonicMs();
    expect(await runtime.until(client.status())).toMatchObject([
      { state: "unreachable", error: { code: Code.DeadlineExceeded, connected: false } },
      { state: "usable" },
    ]);
    expect(runtime.monotonicMs() - startedAt).toBeLessThanOrEqual(5000);
    // Those that answer are compared at once, not only after the last one.
    other.says.chainId = "chain-2";
    const checking = client.status();
    await eventually(() => changes.length > 0);
    expect(changes).toMatchObject([{ refusal: "it is on chain chain-2, not on chain-1" }]);
    await runtime.until(checking);
  });

  it("leave time for the next one if a check hangs", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using hanging = await saying({ after: null });
    await using right = await saying({ fails: new ConnectError("no", Code.InvalidArgument) });
    await using silent = await saying({ after: null });
    const tx = await crafted();
    for (const timeoutMs of [200, 4000]) {
      const connect = (second: string) =>
        createClient({ chainId: "chain-1", grpc: { url: [hanging.grpcUrl, second] }, retry: { tries: 1 } });
      await using reading = connect(right.grpcUrl);
      const answered = { name: "NodeError", code: Code.InvalidArgument };
      expect(await failureOf(runtime.until(read(reading, timeoutMs)))).toMatchObject(answered);
      await using sending = connect(right.grpcUrl);
      const sent = runtime.until(sending.submitTransaction({ tx }, { timeoutMs }));
      expect(await failureOf(sent)).toMatchObject(answered);
      await using none = connect(silent.grpcUrl);
      const error = await failureOf(runtime.until(none.submitTransaction({ tx }, { timeoutMs })));
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({ code: Code.DeadlineExceeded, connected: false });
    }
    expect([hanging, right, silent].map(({ calls }) => calls.submitted)).toEqual([0, 2, 0]);
  });

  it("are checked before their first use when they come back", async () => {
    const lost = await saying();
    await using other = await saying();
    await using behind = await saying({ height: 10n });
    const port = Number(new URL(lost.grpcUrl).port);
    await using client = createClient({
      chainId: "chain-1",
      grpc: { url: [lost.grpcUrl, other.grpcUrl] },
      fallback: { pauseMs: 1, maxPauseMs: 1 },
    });
    await read(client);
    await lost.close();
    await read(client);
    await using _forwarder = await startForwarder("127.0.0.1", port, behind.grpcUrl);
    await eventually(async () => {
      await read(client);
      return behind.calls.heights > 0;
    });
    await read(client);
    expect(behind.calls.parameters).toBe(0);
  });

  it("are waited for a second before the first call, and no longer", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using first = await saying();
    await using silent = await saying({ after: null });
    await using client = createClient({ grpc: { url: [first.grpcUrl, silent.grpcUrl] } });
    const startedAt = runtime.monotonicMs();
    await runtime.until(read(client));
    expect(runtime.monotonicMs() - startedAt).toBeLessThanOrEqual(1000);
    expect(first.calls.parameters).toBe(1);
  });

  it("are not used if they say only after that second that they are on another chain", async () => {
    using runtime = useVirtualRuntime({ io: true });
    let answer = () => {};
    const after = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await using other = await saying({ chainId: "chain-2", after });
    await using right = await saying();
    await using silent = await saying({ after: null });
    const url = [other.grpcUrl, right.grpcUrl, silent.grpcUrl];
    await using client = createClient({ chainId: "chain-1", grpc: { url } });
    const reading = read(client);
    await eventually(() => [other, right, silent].every(({ calls }) => calls.heights === 1));
    await runtime.pass(1001);
    answer();
    await reading;
    expect([other.calls.parameters, right.calls.parameters]).toEqual([0, 1]);
  });

  it("are tried again a second after a check has found them unreachable", async () => {
    const first = await saying();
    await using back = await saying();
    const port = await freePort();
    let offset = 0;
    using _ = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + offset });
    await using client = createClient({
      grpc: { url: [first.grpcUrl, `http://127.0.0.1:${port}`] },
      retry: { tries: 1 },
    });
    await read(client);
    await using _forwarder = await startForwarder("127.0.0.1", port, back.grpcUrl);
    offset += 1500; // Before all nodes are checked again.
    await first.close();
    await read(client);
    expect([first.calls.parameters, back.calls.parameters]).toEqual([1, 1]);
  });

  it("share reads in turn, but what transactions are made of goes to the first", async () => {
    await using one = await saying();
    await using two = await saying();
    await using three = await saying();
    await using client = createClient({
      grpc: { url: [one.grpcUrl, two.grpcUrl, three.grpcUrl] },
      fallback: { strategy: "round-robin" },
    });
    await client.status();
    const heights = [one, two, three].map(({ calls }) => calls.heights);
    for (let count = 0; count < 6; count += 1) {
      await read(client);
      await client.service(CoreService).lastBlockHeight({});
    }
    expect([one, two, three].map(({ calls }) => calls.parameters)).toEqual([2, 2, 2]);
    expect([one, two, three].map(({ calls }, at) => calls.heights - (heights[at] ?? 0))).toEqual([6, 0, 0]);
  });

  it("are checked again after five seconds in which calls are made", async () => {
    await using first = await saying();
    await using second = await saying();
    let offset = 0;
    using _ = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + offset });
    await using client = createClient({ grpc: { url: [first.grpcUrl, second.grpcUrl] } });
    await read(client);
    first.says.height = 900n;
    offset += 4000;
    await read(client);
    expect(first.calls).toMatchObject({ heights: 1, parameters: 2 });
    offset += 2000;
    await eventually(async () => {
      await read(client);
      return second.calls.parameters > 0;
    });
    expect(first.calls.heights).toBe(2);
  });

  it("are left alone while they are down, even if they have answered before", async () => {
    const first = await saying();
    await using second = await saying();
    const fallbacks: string[] = [];
    await using client = createClient(
      { grpc: { url: [first.grpcUrl, second.grpcUrl] } },
      { hooks: { onFallback: ({ from }) => fallbacks.push(from) } },
    );
    await read(client);
    await first.close();
    for (let count = 0; count < 4; count += 1) {
      await read(client);
    }
    expect(fallbacks).toEqual([`grpc ${first.grpcUrl}`]);
    expect([first.calls.parameters, second.calls.parameters]).toEqual([1, 4]);
  });

  // Nodes limit the calls of an IP address, over both of their ports: another port of the same host would not help.
  it("are asked instead of one that limits calls, if they have another host", async () => {
    await using limiting = await saying({ fails: new ConnectError("not now", Code.ResourceExhausted) });
    await using other = await saying();
    const retry = { tries: 1 };
    await using same = createClient({ grpc: { url: [limiting.grpcUrl, other.grpcUrl] }, retry });
    await expect(read(same)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect(other.calls.parameters).toBe(0);
    const url = elsewhere(other.grpcUrl);
    await using further = createClient({ grpc: { url: [limiting.grpcUrl, url] }, retry });
    expect((await read(further)).networkParameter?.value).toBe("1000");
    expect(other.calls.parameters).toBe(1);
    // The limiting node's REST, which comes before the other node, is left out.
    const rest = { url: [limiting.restUrl, elsewhere(other.restUrl)] };
    await using both = createClient({ transport: ["grpc", "rest"], grpc: { url: limiting.grpcUrl }, rest, retry });
    const before = limiting.calls.parameters;
    expect((await read(both)).networkParameter?.value).toBe("1000");
    expect([limiting.calls.parameters - before, other.calls.parameters]).toEqual([1, 2]);
  });

  it("get what must not wait for the pace of limits.callsPerSecond, and its node is used again at once", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using first = await saying();
    await using other = await saying();
    await using client = createClient({
      grpc: { url: [first.grpcUrl, elsewhere(other.grpcUrl)] },
      limits: { callsPerSecond: 1 },
    });
    await runtime.until(read(client)); // The checks of both nodes wait for the pace, too.
    await runtime.pass(1000);
    await runtime.until(Promise.all([read(client), read(client, 400)]));
    expect([first.calls.parameters, other.calls.parameters]).toEqual([2, 1]);
    await runtime.pass(1000);
    await runtime.until(read(client));
    expect([first.calls.parameters, other.calls.parameters]).toEqual([3, 1]);
  });

  it("get what must not wait for the rate limit of another host, also a transaction, and its node is left alone", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const spent = { "ratelimit-limit": "1", "ratelimit-remaining": "0", "ratelimit-reset": "600" };
    await using limiting = await saying({ fails: new ConnectError("no", Code.InvalidArgument, spent) });
    await using other = await saying({ fails: new ConnectError("no", Code.OutOfRange) });
    const url = [limiting.grpcUrl, elsewhere(other.grpcUrl)];
    const submit = async (client: Client) => client.submitTransaction({ tx: await crafted() });
    const calls: ((client: Client) => Promise<unknown>)[] = [read, submit];
    for (const call of calls) {
      await using client = createClient({ chainId: "chain-1", grpc: { url }, timeouts: { callMs: 4000 } });
      expect(await failureOf(runtime.until(read(client)))).toMatchObject({ code: Code.InvalidArgument });
      expect(await failureOf(runtime.until(call(client)))).toMatchObject({ name: "NodeError", code: Code.OutOfRange });
      const startedAt = runtime.monotonicMs();
      expect(await failureOf(runtime.until(read(client)))).toMatchObject({ code: Code.OutOfRange });
      expect(runtime.monotonicMs()).toBe(startedAt);
    }
    expect([limiting.calls.submitted, other.calls.submitted]).toEqual([0, 1]);
  });

  it("are checked before the calls that wait for limits.callsPerSecond", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using first = await saying();
    await using other = await saying();
    await using client = createClient({
      grpc: { url: [first.grpcUrl, elsewhere(other.grpcUrl)] },
      limits: { callsPerSecond: 1 },
      timeouts: { callMs: 60_000 },
    });
    await runtime.until(read(client));
    const reading = Promise.all(Array.from({ length: 20 }, () => read(client)));
    await runtime.pass(0);
    first.says.height = 1001n; // The check itself waits for no other call, only how the data node lags.
    expect(await runtime.until(client.status())).toMatchObject([
      { state: "usable", height: 1001n },
      { state: "usable", height: 1000n },
    ]);
    await runtime.until(reading);
    await runtime.until(read(client));
    expect([first.calls.parameters, other.calls.parameters]).toEqual([22, 0]);
  });

  it("get a transaction that was not sent because of a ban, but none that was answered with one", async () => {
    await using banning = await saying({ fails: ban });
    await using other = await saying();
    const url = [banning.grpcUrl, elsewhere(other.grpcUrl)];
    const connect = () => createClient({ chainId: "chain-1", grpc: { url }, timeouts: { callMs: 60_000 } });
    await using answered = connect();
    const error = await failureOf(answered.submitTransaction({ tx: await crafted() }));
    expect(error).toBeInstanceOf(BannedError);
    expect(error).toMatchObject({ mayHaveBeenSent: true });
    expect([banning.calls.submitted, other.calls.submitted]).toEqual([1, 0]);
    await using unsent = connect();
    await read(unsent); // Learns of the ban.
    const abort = new AbortController();
    const sending = failureOf(unsent.submitTransaction({ tx: await crafted() }, { signal: abort.signal }));
    await eventually(() => other.calls.submitted > 0);
    abort.abort();
    expect(await sending).toBeInstanceOf(OutcomeUnknownError);
    expect([banning.calls.submitted, other.calls.submitted]).toEqual([1, 1]);
  });

  it.each(["grpc", "rest"] as const)("get a transaction once, whatever becomes of it (%s)", async (transport) => {
    await using first = await saying();
    await using second = await saying();
    const endpoints =
      transport === "grpc"
        ? { grpc: { url: [first.grpcUrl, second.grpcUrl] } }
        : { rest: { url: [first.restUrl, second.restUrl] } };
    await using client = createClient({
      ...endpoints,
      chainId: "chain-1",
      timeouts: { callMs: 2000 },
    });
    const tx = await crafted();
    const sending = client.submitTransaction({ tx });
    await eventually(() => first.calls.submitted === 1);
    await first.close(); // It has the transaction, and answers nothing.
    await expect(sending).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect([first.calls.submitted, second.calls.submitted]).toEqual([1, 0]);
    await expect(read(client)).resolves.toMatchObject({ networkParameter: { key: "a.b" } });
  });

  it("get a read again that was under way when one was lost, and the lost one is used again once it answers", async () => {
    const port = await freePort();
    const start = () => startDevnode({ grpcPort: port, blockMs: 0, segments: 1, blocksPerSegment: 2 });
    const lost = await start();
    await using other = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 2 });
    const sent: string[] = [];
    await using client = createClient(
      { grpc: { url: [lost.grpcUrl, other.grpcUrl] }, fallback: { pauseMs: 3_600_000, maxPauseMs: 3_600_000 } },
      { hooks: { onCallEnd: (_, { sentTo }) => sent.push(sentTo?.url ?? "") } },
    );
    lost.failNext({ method: "ListAllNetworkHistorySegments", with: "cut" });
    await client.listSegments();
    await lost.close();
    await client.listSegments();
    await using again = await start();
    await client.status();
    await client.listSegments();
    expect(sent).toEqual([other.grpcUrl, other.grpcUrl, again.grpcUrl]);
  });
});

describe("the order of transports", () => {
  it("is that of the list: REST first, then gRPC", async () => {
    await using node = await saying();
    const sent: (string | undefined)[] = [];
    const hooks = {
      onCallEnd: (_: unknown, { sentTo }: { sentTo?: { transport: string } }) => sent.push(sentTo?.transport),
    };
    const grpc = { url: node.grpcUrl };
    await using both = createClient({ transport: ["rest", "grpc"], grpc, rest: { url: node.restUrl } }, { hooks });
    await read(both);
    await using one = createClient({ transport: ["rest", "grpc"], grpc, rest: { url: await nobody() } }, { hooks });
    await read(one);
    expect(sent).toEqual(["rest", "grpc"]);
  });

  it("may have transports of one's own", async () => {
    await using node = await saying();
    const own = createGrpcTransport({ url: node.grpcUrl });
    const failing = createGrpcTransport({ url: await nobody() });
    await using alone = createClient({ transport: own });
    await read(alone);
    await using named = createClient({
      transport: [{ name: "mine", transport: failing }, "rest"],
      rest: { url: node.restUrl },
    });
    await read(named);
    const pair = fallback([
      { name: "a", transport: failing },
      { name: "b", transport: createGrpcTransport({ url: node.grpcUrl }) },
    ]);
    await using composed = createClient({ transport: pair });
    await read(composed);
    expect(node.calls.parameters).toBe(3);
  });

  it("gives a node's error over Connect's own transport as the library's", async () => {
    await using node = await serveNode({
      getNetworkParameter() {
        throw new ConnectError("no such parameter", Code.NotFound);
      },
    });
    const own = createConnectTransport({ baseUrl: node.grpcUrl });
    await using client = createClient({ transport: { name: "mine", transport: own } });
    await expect(read(client)).rejects.toMatchObject({
      name: "NodeError",
      code: Code.NotFound,
      summary: expect.stringContaining("no such parameter"),
    });
  });
});

describe("what goes on when its node is lost", () => {
  const start = (blockMs = 0) => startDevnode({ blockMs, segments: 2, blocksPerSegment: 5 });

  it("are events, from the next node, with the gap", async () => {
    await using node = await start(20);
    const ways = [await startBreakingProxy(node.grpcUrl), await startBreakingProxy(node.grpcUrl)] as const;
    await using second = ways[1];
    await using client = createClient({
      grpc: { url: [ways[0].url, second.url] },
      retry: { baseMs: 1, maxMs: 5 },
    });
    const found: string[] = [];
    for await (const event of client.events({ types: ["endBlock"] }, { reconnect: true })) {
      found.push("gap" in event ? "gap" : event.kind);
      if (found.length === 2) {
        await ways[0][Symbol.asyncDispose]();
      }
      if (found.at(-2) === "gap") {
        break; // The gap, and what the next node has sent.
      }
    }
    expect(found.slice(-2)).toEqual(["gap", "endBlock"]);
  });

  it("is an export into a file, from the start, over the next node", async () => {
    await using first = await start();
    await using second = await start();
    const sent: (string | undefined)[] = [];
    await using client = createClient(
      { grpc: { url: [first.grpcUrl, second.grpcUrl] } },
      { hooks: { onCallEnd: (_call, { sentTo, error }) => error ?? sent.push(sentTo?.url) } },
    );
    first.failNext({ method: "ExportNetworkHistory", with: "cut", afterBytes: 100 });
    const request = { table: "trades", fromBlock: 1, toBlock: 10 } as const;
    await using alone = createClient({ grpc: { url: second.grpcUrl } });
    const folder = await mkdtemp(join(tmpdir(), "tradewire-nodes-"));
    try {
      const saved = await client.exportNetworkHistory(request).saveTo({ file: join(folder, "both.zip") });
      const wanted = await alone.exportNetworkHistory(request).saveTo({ file: join(folder, "alone.zip") });
      expect(saved.sha256).toBe(wanted.sha256);
    } finally {
      await rm(folder, { recursive: true });
    }
    expect(sent).toEqual([second.grpcUrl]);
  });
});
