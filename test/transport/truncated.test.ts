import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { createClient, ProtocolError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { envelope, serveStreams } from "../support/servers.js";

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
      expect(String(failure)).toContain("the response was cut short");
    }
  });
});
