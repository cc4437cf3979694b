import type { DescMethodUnary } from "@bufbuild/protobuf";
import { afterAll, beforeAll } from "@jest/globals";
import { type ClosableTransport, createGrpcTransport } from "tradewire/transport";
import { envelope, serveStreams, type TestServer } from "./servers.js";

/**
 * Starts a gRPC server for the tests of a file. Returns a function that calls a method, which the server answers with the bytes,
 * and returns the message that the transport makes of them.
 */
export function useAnsweringServer(
  codec: "proto" | "json",
): (method: DescMethodUnary, answer: Uint8Array) => Promise<unknown> {
  let server: TestServer;
  let transport: ClosableTransport;
  let body: Uint8Array;
  beforeAll(async () => {
    const contentType = `application/grpc+${codec}`;
    server = await serveStreams((stream) => {
      stream.respond({ ":status": 200, "content-type": contentType }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(envelope(body));
    });
    transport = createGrpcTransport({ url: server.url, codec });
  });
  afterAll(async () => {
    await transport.close();
    await server.close();
  });
  return async (method, answer) => {
    body = answer;
    return (await transport.unary(method, undefined, undefined, undefined, {})).message;
  };
}
