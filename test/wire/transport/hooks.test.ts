import { setImmediate as turn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { type CallInfo, createClient, type FallbackInfo, type Hooks, type RetryInfo } from "tradewire";
import { HistorySegmentSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { closedUrl, serveNode } from "../../support/node.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";
import { takeWarnings } from "../../support/warnings.js";

const segments = [create(HistorySegmentSchema, { fromHeight: 1n, toHeight: 1000n, chainId: "chain-1" })];
const kinds = ["onCallStart", "onBytes", "onCallEnd", "onRetry", "onWait", "onFallback"] as const;

afterEach(() => {
  jest.restoreAllMocks();
});

/** A node that is busy at every other listing, and takes submissions. */
function startNode() {
  let calls = 0;
  return serveNode(
    {
      listAllNetworkHistorySegments: () => {
        calls += 1;
        if (calls % 2 === 1) {
          throw new ConnectError("busy", Code.Unavailable);
        }
        return { segments };
      },
    },
    { submitTransaction: () => ({ success: true, txHash: "AB" }) },
  );
}

describe("hooks that throw", () => {
  it.each([
    ["at once", (): unknown => JSON.parse("oops")],
    ["later", async (): Promise<unknown> => JSON.parse("oops")],
  ])("%s change no call, and are told once a kind", async (_, fail) => {
    using warnings = takeWarnings();
    using runtime = useVirtualRuntime({ io: true });
    await using node = await startNode();
    const called = new Map<string, number>();
    const hooks: Hooks = Object.fromEntries(
      kinds.map((kind) => [
        kind,
        () => {
          called.set(kind, (called.get(kind) ?? 0) + 1);
          return fail();
        },
      ]),
    );
    const retry = { tries: 3, baseMs: 1, maxMs: 2 };
    await using client = createClient(
      {
        grpc: { url: await closedUrl() },
        rest: { url: node.restUrl },
        retry,
        fallback: { pauseMs: 1, maxPauseMs: 1 },
        limits: { callsPerSecond: 20 },
      },
      { hooks },
    );
    for (let round = 0; round < 3; round += 1) {
      expect(await runtime.until(client.listSegments())).toEqual(segments);
      expect(await runtime.until(client.submitTransaction({ tx: {} }))).toMatchObject({ success: true, txHash: "AB" });
      await runtime.pass(5); // gRPC pauses no longer.
    }
    // Of these some wait, for they are more than may be sent at once.
    const taking = Promise.all(Array.from({ length: 4 }, () => client.submitTransaction({ tx: {} })));
    const taken = await runtime.until(taking);
    expect(taken).toHaveLength(4);
    expect(called.get("onCallStart")).toBe(10);
    expect(called.get("onCallEnd")).toBe(10);
    expect(new Set(called.keys())).toEqual(new Set(kinds));
    await turn(); // Warnings are told in the next tick.
    const { told } = warnings;
    expect(told.map((message) => message.split(" ")[3]).sort()).toEqual([...kinds].sort());
    expect(told[0]).toContain("oops");
  });
});

describe("the events of a call", () => {
  it("have its number, further tries and transports too", async () => {
    await using node = await startNode();
    const seen: { starts: CallInfo[]; further: (RetryInfo | FallbackInfo)[] } = { starts: [], further: [] };
    const hooks: Hooks = {
      onCallStart: (call) => seen.starts.push(call),
      onRetry: (retry) => seen.further.push(retry),
      onFallback: (fallback) => seen.further.push(fallback),
    };
    const grpc = { url: await closedUrl() };
    await using client = createClient(
      { grpc, rest: { url: node.restUrl }, fallback: { pauseMs: 1, maxPauseMs: 1 } },
      { hooks },
    );
    await client.listSegments();
    await client.listSegments();
    const [first, second] = seen.starts.map(({ id }) => id);
    expect(first).not.toBe(second);
    expect(new Set(seen.further.map(({ id }) => id))).toEqual(new Set([first, second]));
    expect(seen.further.length).toBeGreaterThanOrEqual(4);
  });
});
