import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { describe, expect, it } from "@jest/globals";
import type { ClosableTransport } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { limited, withOurErrors } from "tradewire/transport";
import { block } from "../../../support/block.js";

const { exportNetworkHistory, listAllNetworkHistorySegments } = TradingDataService.method;
const url = "http://127.0.0.1:3007";

/** A transport whose calls fail after a time in which no timer runs, streams after their header. */
function failingAfter(busyMs: number, error: ConnectError): ClosableTransport {
  const fail = (): never => {
    block(busyMs);
    throw error;
  };
  const failing: Transport = {
    unary: async () => fail(),
    async stream(method) {
      const message = createAsyncIterable([create(method.output)]);
      const values = { header: new Headers(), trailer: new Headers(), service: method.parent };
      return { ...values, stream: true, method, message: mapped(message, fail) };
    },
  };
  return limited(withOurErrors(failing, { name: "grpc", url }), {
    url,
    timeouts: { callMs: 60_000 },
    interceptors: [],
  });
}

async function* mapped<T>(messages: AsyncIterable<T>, map: (message: T) => T): AsyncGenerator<T> {
  for await (const message of messages) {
    yield map(message);
  }
}

type Call = (transport: ClosableTransport, limitMs: number) => Promise<unknown>;

const calls: readonly [kind: string, call: Call][] = [
  ["a call", (transport, limitMs) => transport.unary(listAllNetworkHistorySegments, undefined, limitMs, undefined, {})],
  [
    "a stream",
    async (transport, limitMs) => {
      const input = createAsyncIterable([{}]);
      const { message } = await transport.stream(exportNetworkHistory, undefined, limitMs, undefined, input);
      return message[Symbol.asyncIterator]().next();
    },
  ],
];

describe.each(calls)("%s that the server resets", (_, call) => {
  it.each([
    [10, 5, "CANCEL", Code.DeadlineExceeded, "the deadline of the call passed"],
    [0, 60_000, "CANCEL", Code.Canceled, `the server reset the call (HTTP/2 error code 8) (${url})`],
    [10, 5, "INTERNAL_ERROR", Code.Internal, `the server reset the call (HTTP/2 error code 2) (${url})`],
  ])("after %i of %i ms, with HTTP/2's code %s, fails with %i", async (busyMs, limitMs, reset, code, summary) => {
    const error = new ConnectError(`Stream closed with error code NGHTTP2_${reset}`, Code.Canceled);
    const transport = failingAfter(busyMs, error);
    await expect(call(transport, limitMs)).rejects.toMatchObject({ code, cause: { code, summary } });
  });

  // gRPC's servers get the deadline in `grpc-timeout` (grpc/grpc, doc/PROTOCOL-HTTP2.md), and end the call with this status.
  it.each([
    [10, 5, "TW_TIMEOUT"],
    [0, 60_000, "TW_NODE_UNAVAILABLE"],
  ])("after %i of %i ms, with the status DEADLINE_EXCEEDED, fails with %s", async (busyMs, limitMs, errorCode) => {
    const error = new ConnectError("context deadline exceeded", Code.DeadlineExceeded, { "grpc-status": "4" });
    await expect(call(failingAfter(busyMs, error), limitMs)).rejects.toMatchObject({ cause: { errorCode } });
  });
});
