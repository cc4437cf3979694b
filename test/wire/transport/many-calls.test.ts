import type { Socket } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { eventually } from "../../support/eventually.js";
import { serveNode } from "../../support/node.js";
import { envelope, serveStreams } from "../../support/servers.js";
import { nodeRuntime, useRuntime, useVirtualRuntime } from "../../support/virtual-runtime.js";
import { takeWarnings } from "../../support/warnings.js";

const TRANSPORTS = ["grpc", "grpc-js"] as const;

describe.each([...TRANSPORTS, "rest"] as const)("a new client over %s", (transport) => {
  test("has 50 calls at once answered by a node that takes two thirds of their time", async () => {
    // grpc-js compares deadlines with the machine's clock: the time of a call is long for a loaded machine too.
    using runtime = useVirtualRuntime({ io: true, unixMs: Date.now() });
    await using node = await serveNode({
      listAllNetworkHistorySegments: () => runtime.after(20_000).then(() => ({ segments: [] })),
    });
    await using client = createClient({
      transport,
      grpc: { url: node.grpcUrl },
      rest: { url: node.restUrl },
      timeouts: { callMs: 30_000 },
      retry: { tries: 1 },
    });
    const calls = Array.from({ length: 50 }, () => client.listSegments());
    const ends = await runtime.until(Promise.allSettled(calls));
    expect(ends.filter(({ status }) => status === "rejected")).toEqual([]);
  });
});

test("a call beyond the streams of 100 connections is told so over grpc, and made once one has ended", async () => {
  await using server = await serveAnswering(1);
  await using client = createClient({ transport: "grpc", grpc: { url: server.url }, retry: { tries: 1 } });
  const service = client.service(TradingDataService);
  const iterators = Array.from({ length: 100 }, () => service.observeMarketsData({})[Symbol.asyncIterator]());
  await Promise.all(iterators.map((iterator) => iterator.next()));
  await expect(client.listSegments()).rejects.toMatchObject({
    name: "ConnectionError",
    connected: false,
    summary: `the server accepts no more streams on 100 connections (${server.url})`,
  });
  await iterators[0]?.return?.();
  let answer: readonly unknown[] | undefined;
  await eventually(async () => {
    // The stream is counted until it is closed.
    answer = await client.listSegments().catch(() => undefined);
    return answer !== undefined;
  });
  expect(answer).toEqual([]);
  await Promise.all(iterators.map((iterator) => iterator.return?.()));
});

test("32 calls that begin while a lost connection is closing all take another one over grpc", async () => {
  const sockets: Socket[] = [];
  using _runtime = useRuntime({
    connect(options) {
      const socket = nodeRuntime.connect(options);
      sockets.push(socket);
      return socket;
    },
  });
  using warnings = takeWarnings();
  await using node = await serveNode({ listAllNetworkHistorySegments: () => ({ segments: [] }) });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry: { tries: 1 } });
  await client.listSegments();
  sockets[0]?.destroy(); // As Node does when a connection is lost; it reports the end some steps later.
  const ends = await Promise.allSettled(Array.from({ length: 32 }, () => client.listSegments()));
  expect(ends.filter(({ status }) => status === "rejected")).toEqual([]);
  expect(sockets).toHaveLength(2);
  expect(warnings.told).toEqual([]);
});

/** A server whose streams give one message and stay open, and whose lists are empty. */
async function serveAnswering(maxConcurrentStreams: number) {
  const server = await serveStreams(
    (stream, _) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.write(envelope(new Uint8Array()));
    },
    { maxConcurrentStreams },
    (session) => session.on("stream", (stream, headers) => /List/.test(headers[":path"] ?? "") && stream.end()),
  );
  return { ...server, [Symbol.asyncDispose]: () => server.close() };
}

// RFC 9113, 6.5.2: a server allows as many streams as SETTINGS_MAX_CONCURRENT_STREAMS, at least 100 as is recommended.
describe.each(TRANSPORTS)("a server that allows 100 streams on a connection, over %s", (transport) => {
  test("has those beyond on further connections, and answers other calls", async () => {
    await using server = await serveAnswering(100);
    await using client = createClient({ transport, grpc: { url: server.url }, timeouts: { callMs: 10_000 } });
    const service = client.service(TradingDataService);
    const iterators = Array.from({ length: 250 }, () => service.observeMarketsData({})[Symbol.asyncIterator]());
    const first = await Promise.all(iterators.map((iterator) => iterator.next()));
    expect(first.filter(({ done }) => done !== true)).toHaveLength(250);
    expect(server.sessions).toHaveLength(3);
    expect(await client.listSegments()).toEqual([]);
    expect(server.sessions).toHaveLength(3);
    await Promise.all(iterators.map((iterator) => iterator.return?.()));
  });
});
