import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { createGrpcTransport as createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "@jest/globals";
import { ConnectionError, createClient, fallback, type NodeChange, OutcomeUnknownError } from "tradewire";
import { CoreService, TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { createGrpcTransport } from "tradewire/transport";
import { startBreakingProxy } from "../support/breaking-proxy.js";
import { eventually } from "../support/eventually.js";
import { startForwarder } from "../support/forwarder.js";
import { freePort } from "../support/free-port.mjs";
import { serveNode, unanswered } from "../support/node.js";
import { craft } from "../support/transactions.js";
import { nodeRuntime, useRuntime, useVirtualRuntime } from "../support/virtual-runtime.js";

/** What a node says, and the code with which it fails instead. */
interface Says {
  chainId: string;
  height: bigint;
  behindCoreMs: number;
  fails: Code | undefined;
  /** Whether it does not offer the method for its chain and height. */
  hidesHeight: boolean;
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
    hidesHeight: false,
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
          throw new ConnectError("not now", says.fails);
        }
        return { networkParameter: { key, value: String(says.height) } };
      },
    },
    {
      getVegaTime: () => ({ timestamp: now() }),
      async lastBlockHeight(request, context) {
        calls.heights += 1;
        await (says.after === null ? unanswered(request, context) : says.after);
        if (says.hidesHeight) {
          throw new ConnectError("no such method", Code.Unimplemented);
        }
        if (says.fails === Code.Internal) {
          throw new ConnectError("not now", says.fails);
        }
        return { chainId: says.chainId, height: says.height, hash: "ab".repeat(32) };
      },
      async submitTransaction(_, context) {
        calls.submitted += 1;
        return await unanswered(_, context);
      },
    },
  );
  return Object.assign(node, { says, calls });
}

const nobody = async () => `http://127.0.0.1:${await freePort()}`;
const read = (client: ReturnType<typeof createClient>) =>
  client.service(TradingDataService).getNetworkParameter({ key: "a.b" });

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
    const refusal = "it is on the chain chain-2, not on chain-1";
    expect(changes).toEqual([{ name: `grpc ${other.grpcUrl}`, url: other.grpcUrl, refusal }]);
    expect(await client.status()).toMatchObject([
      { url: other.grpcUrl, state: "other chain", refusal, chainId: "chain-2" },
      { url: right.grpcUrl, state: "usable", chainId: "chain-1", height: 1000n, behindBlocks: 0, version: "v0.78.0" },
    ]);
    other.says.fails = Code.Internal; // A check that fails once does not change what is known.
    expect(await client.status()).toMatchObject([{ state: "other chain", refusal }, { state: "usable" }]);
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
      { state: "behind", refusal: "its data node is 60 s behind its core", lag: { state: "lagging" } },
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

  it("are used without a check if they do not say which chain and height they have", async () => {
    await using hiding = await saying({ hidesHeight: true });
    await using nameless = await saying({ chainId: "" });
    await using right = await saying();
    for (const unchecked of [hiding, nameless]) {
      await using client = createClient({ chainId: "chain-1", grpc: { url: [unchecked.grpcUrl, right.grpcUrl] } });
      await read(client);
      expect([unchecked.calls.parameters, right.calls.parameters]).toEqual([1, 0]);
      expect(await client.status()).toMatchObject([
        { state: "unchecked", error: { name: expect.any(String) } },
        { state: "usable" },
      ]);
    }
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
    await using limiting = await saying({ fails: Code.ResourceExhausted });
    await using other = await saying();
    const retry = { tries: 1 };
    await using same = createClient({ grpc: { url: [limiting.grpcUrl, other.grpcUrl] }, retry });
    await expect(read(same)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect(other.calls.parameters).toBe(0);
    const url = other.grpcUrl.replace("127.0.0.1", "localhost");
    await using further = createClient({ grpc: { url: [limiting.grpcUrl, url] }, retry });
    expect((await read(further)).networkParameter?.value).toBe("1000");
    expect(other.calls.parameters).toBe(1);
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
    const block = {
      chainId: "chain-1",
      height: 1000n,
      hash: "ab".repeat(32),
      difficulty: 1,
      hashFunction: "sha3_24_rounds",
    };
    const tx = await craft({ block });
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
