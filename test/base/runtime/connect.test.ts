import { expect, test } from "@jest/globals";
import { type ClientConfig, createClient } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { nodeRuntime, useRuntime } from "../../support/virtual-runtime.js";

// Names that nobody has: only a runtime whose connections lead elsewhere reaches a node by them.
const nowhere: ClientConfig = { grpc: { url: "http://grpc.invalid:1" }, rest: { url: "http://rest.invalid" } };

test.each(["grpc", "rest"] as const)("all connections over %s are opened by the runtime", async (transport) => {
  await using node = await startDevnode({ blockMs: 200, segments: 1, blocksPerSegment: 10 });
  const asked: unknown[] = [];
  using _ = useRuntime({
    connect(options) {
      asked.push([options.host, options.port]);
      const { hostname, port } = new URL(options.host === "grpc.invalid" ? node.grpcUrl : node.restUrl);
      return nodeRuntime.connect({ ...options, host: hostname, port: Number(port) });
    },
  });
  await using client = createClient({ transport, ...nowhere, retry: { tries: 1 } });
  // A call, a download, and a stream in both directions, for which the gateway has WebSockets.
  expect((await client.listSegments()).length).toBeGreaterThan(0);
  let rows = 0;
  for await (const _ of client.exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: 10 }).rows()) {
    rows += 1;
  }
  expect(rows).toBe(10);
  for await (const event of client.events()) {
    expect(event).toBeDefined();
    break;
  }
  const server = transport === "grpc" ? ["grpc.invalid", 1] : ["rest.invalid", 80];
  expect(asked).toEqual(transport === "grpc" ? [server] : [server, server, server]);
});
