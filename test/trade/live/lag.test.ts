import { once } from "node:events";
import { Code, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { serveNode } from "../../support/node.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const SECOND = 1_000_000_000n;

/**
 * What an outcome that is not known says of a data node whose last block is so much older than the core's. The node
 * streams no events, so that nothing is waited for.
 */
async function saidOfDataNode(behindCore: bigint, behindClock: bigint): Promise<string | undefined> {
  const coreTime = BigInt(Date.now()) * 1_000_000n - behindClock * SECOND;
  await using node = await serveNode(
    { getVegaTime: () => ({ timestamp: coreTime - behindCore * SECOND }) },
    { getVegaTime: () => ({ timestamp: coreTime }) },
  );
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const outcome = await client.outcome("AB".repeat(32));
  const traces = outcome.status === "unknown" ? outcome.lookedAt : [];
  return traces.find(({ place }) => place === "data node")?.found;
}

// A data node that missed blocks keeps answering with old state, as one of v0.78.0 did.
describe("an outcome that is not known", () => {
  test("says that the data node has the core's last blocks", async () => {
    expect(await saidOfDataNode(1n, 1n)).toBe("it has the core's last blocks");
  });

  test("says that the data node lags behind the core", async () => {
    expect(await saidOfDataNode(45n, 0n)).toBe("it lags: its last block is 45 s older than the core's");
  });

  test("says that the network makes no blocks", async () => {
    expect(await saidOfDataNode(0n, 10_800n)).toBe(
      "it has the core's last block, which is 3 h old: the network makes no blocks, the core lags, or its clock differs from this machine's",
    );
  });
});

test("an outcome keeps what was read of the data node when its node falls silent during the wait", async () => {
  using runtime = useVirtualRuntime({ io: true, unixMs: Date.now() });
  const coreTime = BigInt(Date.now()) * 1_000_000n;
  let asked = 0;
  const untilEnd = async ({ signal }: HandlerContext) => void (await once(signal, "abort"));
  await using node = await serveNode(
    {
      async getVegaTime(_, context) {
        asked += 1;
        if (asked > 1) {
          await untilEnd(context);
        }
        return { timestamp: coreTime - SECOND };
      },
    },
    {
      getVegaTime: () => ({ timestamp: coreTime }),
      // biome-ignore lint/correctness/useYield: the stream is silent
      async *observeEventBus(_, context) {
        await untilEnd(context);
      },
    },
  );
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const outcome = await runtime.until(client.outcome("AB".repeat(32), { timeoutMs: 4000 }));
  expect(outcome).toMatchObject({ status: "unknown", reason: "its result did not arrive in time" });
  const traces = outcome.status === "unknown" ? outcome.lookedAt : [];
  expect(traces.find(({ place }) => place === "data node")?.found).toMatch(
    /^it has the core's last blocks when the wait began; could not be read again: the deadline of the call passed$/,
  );
});

test("an outcome does not compare a data node with a core that could not be asked", async () => {
  await using node = await serveNode({ getVegaTime: () => ({ timestamp: BigInt(Date.now()) * 1_000_000n }) });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const outcome = await client.outcome("AB".repeat(32));
  const traces = outcome.status === "unknown" ? outcome.lookedAt : [];
  expect(traces.find(({ place }) => place === "data node")?.found).toBe(
    "it has a recent block, but the core's last block is unknown",
  );
});

describe("dataNodeLag", () => {
  test.each([
    [1n, 1n, "current"],
    [45n, 0n, "lagging"],
    [45n, 90n, "lagging"],
    [0n, 90n, "stalled"],
  ] as const)("%s s behind the core, whose block is %s s old, is %s", async (behindCore, behindClock, state) => {
    const coreTime = BigInt(Date.now()) * 1_000_000n - behindClock * SECOND;
    const dataNodeTime = coreTime - behindCore * SECOND;
    await using node = await serveNode(
      { getVegaTime: () => ({ timestamp: dataNodeTime }) },
      { getVegaTime: () => ({ timestamp: coreTime }) },
    );
    for (const config of [
      { transport: "grpc", grpc: { url: node.grpcUrl } },
      { transport: "rest", rest: { url: node.restUrl } },
    ] as const) {
      await using client = createClient(config);
      const lag = await client.dataNodeLag();
      expect(lag).toMatchObject({ state, dataNodeTime, coreTime, behindCoreMs: Number(behindCore) * 1000 });
      expect(lag.behindClockMs).toBeGreaterThanOrEqual(Number(behindClock) * 1000);
    }
  });

  test.each([
    [1n, "current"],
    [90n, "old"],
  ] as const)("of a data node without its core, %s s behind the clock, is %s", async (behindClock, state) => {
    const dataNodeTime = BigInt(Date.now()) * 1_000_000n - behindClock * SECOND;
    await using node = await serveNode({ getVegaTime: () => ({ timestamp: dataNodeTime }) });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const lag = await client.dataNodeLag();
    expect(lag).toMatchObject({ state, dataNodeTime });
    expect(lag).not.toHaveProperty("coreTime");
    expect(lag).not.toHaveProperty("behindCoreMs");
  });

  test("of a node without a data node fails", async () => {
    await using node = await serveNode({}, { getVegaTime: () => ({ timestamp: 1n }) });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    await expect(client.dataNodeLag()).rejects.toMatchObject({ code: Code.Unimplemented });
  });
});
