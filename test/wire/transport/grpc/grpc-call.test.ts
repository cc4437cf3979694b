import { once } from "node:events";
import { type ClientHttp2Stream, connect } from "node:http2";
import { setImmediate as turn } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { startGrpcCall } from "../../../../src/wire/transport/grpc/grpc-call.js";
import { eventually } from "../../../support/eventually.js";
import { serveStreams } from "../../../support/servers.js";

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
    compression: "none",
    onReceive: () => undefined,
    onEnd: () => undefined,
  });
  call.fail(new ConnectError("no longer wanted", Code.Canceled));
  expect(stream.destroyed).toBe(true);
  session.destroy();
  await server.close();
});
