import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { expect, jest, test } from "@jest/globals";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { createGrpcTransport } from "tradewire/transport";
import { frame, startGrpcServer } from "../../../support/grpc-server.js";

const MEBIBYTE = 1024 * 1024;

test("the bytes copied for a message grow linearly with its size", async () => {
  const size = 24 * MEBIBYTE;
  const server = await startGrpcServer();
  server.answer = {
    pieces: [frame(toBinary(HttpBodySchema, create(HttpBodySchema, { data: new Uint8Array(size) })))],
    ending: { "grpc-status": "0" },
  };
  const transport = createGrpcTransport({ url: server.url, limits: { maxMessageBytes: 2 * size } });
  let copied = 0;
  const typedArray: Uint8Array = Object.getPrototypeOf(Uint8Array.prototype);
  const { set } = typedArray;
  const spy = jest.spyOn(typedArray, "set").mockImplementation(function (this: Uint8Array, from, at) {
    copied += from.length;
    set.call(this, from, at);
  });
  try {
    let received = 0;
    for await (const { data } of createClient(TradingDataService, transport).exportNetworkHistory({})) {
      received += data.length;
    }
    expect(received).toBe(size);
    // Each byte is copied once, and less than twice more as the buffer doubles; the server copies it once as well.
    expect(copied).toBeGreaterThanOrEqual(size);
    expect(copied).toBeLessThan(5 * size);
  } finally {
    spy.mockRestore();
    await transport.close();
    await server.close();
  }
});
