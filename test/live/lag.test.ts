import { describe, expect, test } from "@jest/globals";
import { createClient } from "../../src/client.js";
import { serveNode } from "../support/node.js";

const SECOND = 1_000_000_000n;

/** What an outcome that is not known says of a data node whose last block is so much older than the core's. */
async function saidOfDataNode(behindCore: bigint, behindClock: bigint): Promise<string | undefined> {
  const coreTime = BigInt(Date.now()) * 1_000_000n - behindClock * SECOND;
  await using node = await serveNode(
    { getVegaTime: () => ({ timestamp: coreTime - behindCore * SECOND }) },
    { getVegaTime: () => ({ timestamp: coreTime }) },
  );
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const outcome = await client.outcome("AB".repeat(32), { timeoutMs: 100 });
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
    expect(await saidOfDataNode(0n, 90n)).toBe("it lags: the core's last block is 90 s old");
  });
});
