import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, ProtocolError } from "tradewire";
import {
  ClientStreamResponseSchema,
  ConformanceService,
} from "../../external/conformance/gen/connectrpc/conformance/v1/service_pb.js";
import { frame, type GrpcServer, startGrpcServer } from "../../support/grpc-server.js";

let server: GrpcServer;
beforeAll(async () => {
  server = await startGrpcServer();
});
afterAll(() => server.close());

/** Answer with empty messages and status OK. */
function answerWith(messages: number): void {
  const message = frame(toBinary(ClientStreamResponseSchema, create(ClientStreamResponseSchema)));
  server.answer = { pieces: Array.from({ length: messages }, () => message), ending: { "grpc-status": "0" } };
}

const wrong = [
  [0, Code.Unimplemented, "the response is empty"],
  [2, Code.Unimplemented, "the response has more than one message"],
] as const;

describe.each(["grpc", "grpc-js"] as const)("a method with one answer, over %s", (transport) => {
  it.each(wrong)("fails with the library's error where %i come", async (messages, code, summary) => {
    answerWith(messages);
    await using client = createClient({ transport, grpc: { url: server.url } });
    const service = client.service(ConformanceService);
    const calls = [() => service.unary({}), () => service.clientStream(createAsyncIterable([{}, {}]))];
    for (const call of calls) {
      const failure: unknown = await call().catch((reason: unknown) => reason);
      expect(failure).toBeInstanceOf(ProtocolError);
      expect(failure).toMatchObject({ code, summary: `${summary} (${server.url})`, transport });
    }
  });

  it("gives it where one comes", async () => {
    answerWith(1);
    await using client = createClient({ transport, grpc: { url: server.url } });
    const call = client.service(ConformanceService).clientStream(createAsyncIterable([{}, {}]));
    expect(await call).toEqual(create(ClientStreamResponseSchema));
  });
});
