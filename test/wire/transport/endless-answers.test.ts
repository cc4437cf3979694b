import { Code } from "@connectrpc/connect";
import { expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { serveViolation } from "../../support/breaking-http2.js";
import { eventually } from "../../support/eventually.js";
import { chunk, head, startRawHttp } from "../../support/raw-http.js";
import { envelope, serveStreams } from "../../support/servers.js";
import { nodeRuntime, useRuntime } from "../../support/virtual-runtime.js";

test.each(["grpc", "grpc-js"] as const)(
  "interim answers are ended with their connection over %s",
  async (transport) => {
    const server = await serveViolation("1xx storm");
    const client = createClient({ transport, grpc: { url: server.url }, retry: { tries: 1 } });
    await expect(client.listSegments({ timeoutMs: 20_000 })).rejects.toMatchObject({
      name: "ConnectionError",
      code: Code.Unavailable,
      summary: expect.stringContaining(
        transport === "grpc" ? "violated the HTTP/2 protocol" : "the connection was lost",
      ),
    });
    for (const socket of server.connections) {
      await eventually(() => socket.destroyed);
    }
    await client.close();
    await server.close();
  },
);

test.each(["grpc", "rest"] as const)("empty messages without an end are ended over %s", async (transport) => {
  // The limit is one of a minute. With a slow clock, a loaded machine sends as many in it as a fast one.
  using _ = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() / 100 });
  const many = Array.from({ length: 10_000 });
  const grpc = await serveStreams((stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
    const frames = Buffer.concat(many.map(() => envelope(new Uint8Array())));
    const send = () => stream.destroyed || stream.write(frames, send);
    send();
  });
  const rest = await startRawHttp();
  function* pieces() {
    yield head("200 OK", { "content-type": "application/json", "transfer-encoding": "chunked" });
    const results = chunk('{"result":{}}\n'.repeat(many.length));
    for (;;) {
      yield results;
    }
  }
  rest.answer = { pieces: pieces(), ending: "keep" };
  const client = createClient({ transport, grpc: { url: grpc.url }, rest: { url: rest.url } });
  let count = 0;
  const read = async () => {
    for await (const _ of client.service(TradingDataService).observeMarketsData({})) {
      count += 1;
    }
  };
  await expect(read()).rejects.toMatchObject({
    name: "ProtocolError",
    code: Code.ResourceExhausted,
    summary: expect.stringContaining("the stream has more than 250000 empty messages in a row"),
  });
  expect(count).toBe(250_000);
  await client.close();
  await grpc.close();
  await rest.close();
});
