import { constants, type ServerHttp2Stream } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { createClient, ProtocolError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { CoreService, GetVegaTimeResponseSchema } from "tradewire/gen/vega/api/v1/core_pb.js";
import { envelope, serveStreams } from "../../support/servers.js";

const message = envelope(toBinary(HttpBodySchema, create(HttpBodySchema, { data: Buffer.from("rows") })));

describe("a stream whose bytes end inside a message, with status OK", () => {
  it.each(["grpc", "grpc-js"] as const)("is data lost (%s)", async (transport) => {
    for (const length of [1, 4, 5, message.length - 1]) {
      const node = await serveStreams((stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(Buffer.concat([message, message.subarray(0, length)]));
      });
      const client = createClient({ transport, grpc: { url: node.url } });
      const seen: string[] = [];
      const read = async () => {
        for await (const { data } of client.service(TradingDataService).exportNetworkHistory({})) {
          seen.push(Buffer.from(data).toString());
        }
      };
      const failure: unknown = await read().catch((reason: unknown) => reason);
      await client.close();
      await node.close();
      expect(seen).toEqual(["rows"]);
      expect(failure).toBeInstanceOf(ProtocolError);
      expect(failure).toMatchObject({ code: Code.DataLoss });
      expect(String(failure)).toContain("the response was truncated");
    }
  });
});

// Measured with Node's server and client: the streams of a session that the server destroys end with NO_ERROR, as if they
// were whole; RFC 9113, section 8.1, lets a server reset a stream so only behind a complete response.
const ways: readonly (readonly [way: string, end: (stream: ServerHttp2Stream, cut: () => void) => void])[] = [
  ["its session is destroyed", ({ session }) => session?.destroy()],
  ["its socket is destroyed", (_, cut) => cut()],
  ["it is reset with NO_ERROR", (stream) => stream.close(constants.NGHTTP2_NO_ERROR)],
];

describe.each(["grpc", "grpc-js"] as const)("over %s, a call that only reads", (transport) => {
  it.each(ways)("is made again where %s before the status came", async (_, end) => {
    let calls = 0;
    const time = envelope(toBinary(GetVegaTimeResponseSchema, create(GetVegaTimeResponseSchema, { timestamp: 7n })));
    const node = await serveStreams((stream, cut) => {
      calls += 1;
      const isFirst = calls === 1;
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      if (isFirst) {
        stream.write(time, () => end(stream, cut));
      } else {
        stream.end(time);
      }
    });
    await using client = createClient({ transport, grpc: { url: node.url }, retry: { baseMs: 1 } });
    const answer = await client
      .service(CoreService)
      .getVegaTime({})
      .finally(() => node.close());
    expect(answer.timestamp).toBe(7n);
    expect(calls).toBe(2);
  });
});
