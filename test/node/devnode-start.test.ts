import type { AddressInfo } from "node:net";
import { createServer, connect as dial } from "node:net";
import { networkInterfaces } from "node:os";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { CanceledError, ConnectionError, createClient } from "tradewire";
import { startDevnode } from "tradewire/devnode";

describe("a node that starts", () => {
  it("listens on the loopback address only", async () => {
    await using node = await startDevnode({ segments: 1, blocksPerSegment: 1, blockMs: 0 });
    expect(node.grpcUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(node.restUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const others = Object.values(networkInterfaces()).flatMap((found) =>
      (found ?? []).filter(({ internal, family }) => !internal && family === "IPv4"),
    );
    for (const { address } of others) {
      for (const url of [node.grpcUrl, node.restUrl]) {
        const refused = new Promise((resolve) => {
          const socket = dial(Number(new URL(url).port), address);
          socket.once("connect", () => {
            socket.destroy();
            resolve("connected");
          });
          socket.once("error", () => resolve("refused"));
        });
        expect(await refused).toBe("refused");
      }
    }
  });

  it.each(["grpcPort", "restPort"] as const)(
    "says where the %s is taken, and leaves nothing running",
    async (which) => {
      const server = createServer();
      await new Promise<void>((resolve) => {
        server.listen(0, "127.0.0.1", resolve);
      });
      const { port } = server.address() as AddressInfo;
      const starting = startDevnode({ segments: 1, blocksPerSegment: 1, [which]: port });
      await expect(starting).rejects.toThrow(ConnectionError);
      await expect(starting).rejects.toMatchObject({
        code: Code.Unavailable,
        summary: expect.stringMatching(new RegExp(`^cannot listen on 127\\.0\\.0\\.1:${port}: .*EADDRINUSE`)),
        stack: expect.stringContaining("devnode-start.test."),
        advice: "Use another port, or 0 for a free one.",
      });
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  );

  it("says which address it cannot listen on", async () => {
    const starting = startDevnode({ segments: 1, blocksPerSegment: 1, host: "192.0.2.1" });
    await expect(starting).rejects.toThrow(ConnectionError);
    await expect(starting).rejects.toMatchObject({
      summary: expect.stringContaining("cannot listen on 192.0.2.1:0"),
      advice: "Use an address of this machine, such as 127.0.0.1.",
    });
  });
});

describe("a node that is closed", () => {
  it("cuts off the calls under way, and can be closed twice", async () => {
    const other = await startDevnode({ segments: 1, blocksPerSegment: 2000 });
    await using client = createClient({ transport: "grpc", grpc: { url: other.grpcUrl } });
    const failing = (async () => {
      for await (const { result } of client
        .exportNetworkHistory({ table: "market_data", fromBlock: 1, toBlock: 2000 })
        .chunks()) {
        expect(result).toBeDefined();
        await other.close();
      }
    })();
    const outcome = await failing.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    // A short export may have arrived whole by then.
    expect(outcome === undefined || outcome instanceof ConnectionError).toBe(true);
    await other.close();
    await expect(client.listSegments()).rejects.toThrow(ConnectionError);
  });

  it("is not started where its signal is aborted before or during the start, and stops where it is later", async () => {
    const options = { segments: 1, blocksPerSegment: 1 };
    const never = startDevnode({ ...options, signal: AbortSignal.abort("not today") });
    await expect(never).rejects.toThrow(CanceledError);
    await expect(never).rejects.toMatchObject({
      summary: "the start of the local node was canceled",
      advice: "The signal of the start of the local node was aborted.",
      cause: "not today",
    });
    const during = new AbortController();
    const starting = startDevnode({ ...options, signal: during.signal });
    during.abort();
    await expect(starting).rejects.toThrow(CanceledError);
    const abort = new AbortController();
    const other = await startDevnode({ ...options, signal: abort.signal });
    await using client = createClient({ transport: "rest", rest: { url: other.restUrl }, retry: { tries: 1 } });
    expect(await client.listSegments()).toHaveLength(1);
    abort.abort();
    await other.close();
    await expect(client.listSegments()).rejects.toThrow(ConnectionError);
  });
});
