import { once } from "node:events";
import { type ClientHttp2Stream, connect } from "node:http2";
import { setImmediate as turn } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { ProtocolError } from "tradewire";
import {
  GetNetworkParameterResponseSchema,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { createGrpcTransport } from "tradewire/transport";
import { startGrpcCall } from "../../../../src/wire/transport/grpc/grpc-call.js";
import { eventually } from "../../../support/eventually.js";
import { frame, startGrpcServer } from "../../../support/grpc-server.js";
import { serveStreams } from "../../../support/servers.js";
import { useVirtualRuntime } from "../../../support/virtual-runtime.js";

it("a call that is ended while its stream is opened is canceled", async () => {
  const server = await serveStreams(() => undefined);
  const session = connect(server.url);
  await once(session, "connect");
  let opened: ClientHttp2Stream | undefined;
  const call = startGrpcCall({
    async open(headers) {
      await turn();
      opened = session.request(headers);
      call.fail(new ConnectError("no longer wanted", Code.Canceled));
      return opened;
    },
    beforeSend: () => undefined,
    headers: { ":method": "POST", ":path": "/" },
    maxMessageBytes: 1000,
    inParts: () => false,
    compression: "none",
    onReceive: () => undefined,
    onEnd: () => undefined,
  });
  expect(await call.write(new Uint8Array())).toBe(false);
  expect(() => call.take()).toThrow(expect.objectContaining({ code: Code.Canceled }));
  await eventually(() => opened?.destroyed === true);
  session.destroy();
  await server.close();
});

it("a stream that waits for the server's limit is let go when its call is given up", async () => {
  const server = await serveStreams(() => undefined, { maxConcurrentStreams: 0 });
  const session = connect(server.url);
  await once(session, "remoteSettings");
  const stream = session.request({ ":method": "POST", ":path": "/" });
  const call = startGrpcCall({
    open: () => stream,
    beforeSend: () => undefined,
    headers: {},
    maxMessageBytes: 1000,
    inParts: () => false,
    compression: "none",
    onReceive: () => undefined,
    onEnd: () => undefined,
  });
  call.fail(new ConnectError("no longer wanted", Code.Canceled));
  expect(stream.destroyed).toBe(true);
  session.destroy();
  await server.close();
});

const { getNetworkParameter, observeOrders } = TradingDataService.method;

/** The frame of a parameter whose value has so many characters. */
function parameterOf(length: number): Buffer {
  const networkParameter = { key: "a", value: "1".repeat(length) };
  return frame(
    toBinary(GetNetworkParameterResponseSchema, create(GetNetworkParameterResponseSchema, { networkParameter })),
  );
}

describe.each([10, 200_000])("after a message of %d bytes, a unary call", (length) => {
  it.each([
    ["another message", parameterOf(1), "the response has more than one message"],
    ["the start of another one", Buffer.from([0, 0, 0]), "the response was truncated"],
  ])("ends at once with %s", async (_, rest, summary) => {
    const server = await serveStreams((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.write(parameterOf(length), () => setImmediate(() => stream.end(rest)));
    });
    await using transport = createGrpcTransport({ url: server.url, timeouts: { callMs: 60_000 } });
    const reason = await transport.unary(getNetworkParameter, undefined, undefined, undefined, { key: "a" }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(reason).toBeInstanceOf(ConnectError);
    expect(reason).toMatchObject({ cause: expect.any(ProtocolError), rawMessage: expect.stringContaining(summary) });
    await server.close();
  });
});

it("a deadline ends calls to which an interceptor gave another signal", async () => {
  using runtime = useVirtualRuntime({ io: true });
  const server = await serveStreams(() => undefined);
  const replacing: Interceptor = (next) => (req) => next({ ...req, signal: new AbortController().signal });
  await using transport = createGrpcTransport({ url: server.url, interceptors: [replacing] });
  const unary = transport.unary(getNetworkParameter, undefined, 300, undefined, { key: "a" });
  const stream = transport.stream(observeOrders, undefined, 300, undefined, (async function* () {})());
  for (const call of [unary, stream]) {
    const reason = await runtime.until(
      call.then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    expect(reason).toMatchObject({ code: Code.DeadlineExceeded });
  }
  await server.close();
});

it("headers that can be read only once are sent with each attempt", async () => {
  const server = await startGrpcServer();
  const seen: unknown[] = [];
  server.answer = ({ headers }) => {
    seen.push(headers["x-own"]);
    return seen.length === 1
      ? { ending: { "grpc-status": "14" } }
      : { pieces: [parameterOf(1)], ending: { "grpc-status": "0" } };
  };
  await using transport = createGrpcTransport({ url: server.url, retry: { tries: 3, baseMs: 1, maxMs: 1 } });
  const headers = new Map([["x-own", "1"]]).entries();
  await transport.unary(getNetworkParameter, undefined, undefined, headers, { key: "a" });
  expect(seen).toEqual(["1", "1"]);
  await server.close();
});
