// Slow, and worth it: what a slow reader costs shows with more data than all buffers on the way can hold.
// Answers that contradict themselves, or whose connection is lost behind their end.
import { constants, type ServerHttp2Stream } from "node:http2";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, encodeBinaryHeader } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "@jest/globals";
import { StatusSchema } from "tradewire/gen/google/rpc/status_pb.js";
import { createGrpcTransport, type GrpcTransportOptions } from "tradewire/transport";
import { standsStill } from "../../../support/eventually.js";
import { gate } from "../../../support/gate.js";
import { read, send, watch } from "../../../support/probe.js";
import { envelope, serveStreams, type TestServer } from "../../../support/servers.js";
import { given, taken } from "../../../support/taken.js";

const GRPC = { ":status": 200, "content-type": "application/grpc+proto" };
const OK = { "grpc-status": "0" };
const EMPTY = envelope(new Uint8Array());

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) {
    await each.close();
  }
});

async function serve(answer: (stream: ServerHttp2Stream, cut: () => void) => void): Promise<TestServer> {
  const server = await serveStreams(answer);
  closing.push(server);
  return server;
}

function callOver({ url }: TestServer, options: Partial<GrpcTransportOptions> = {}) {
  const transport = createGrpcTransport({ url, ...options });
  closing.push(transport);
  return transport;
}

/** Wait for the answer to a ping on the server's first connection. */
function answeredPing({ sessions }: TestServer): Promise<void> {
  return new Promise((done, fail) => {
    sessions[0]?.ping((error) => (error === null ? done() : fail(error)));
  });
}

/** Answer with a body and its trailer. */
function respond(stream: ServerHttp2Stream, body: Uint8Array, trailer: Readonly<Record<string, string>>): void {
  stream.respond(GRPC, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailer));
  stream.end(body);
}

const detailed = (code: number, message = "from the details") =>
  encodeBinaryHeader(create(StatusSchema, { code, message }), StatusSchema);

describe("a status", () => {
  it.each([
    ["that its details deny", "5", detailed(0), Code.NotFound, "gone"],
    ["that is another in its details", "5", detailed(7), Code.NotFound, "gone"],
    ["whose details have no code of gRPC", "5", detailed(99), Code.NotFound, "gone"],
    ["of success with details of a failure", "0", detailed(5), Code.NotFound, "from the details"],
  ])("%s is a failure", async (_, status, details, code, message) => {
    const trailer = { "grpc-status": status, "grpc-message": "gone", "grpc-status-details-bin": details };
    const transport = callOver(await serve((stream) => respond(stream, EMPTY, trailer)));
    const call = transport.unary(read, undefined, undefined, undefined, {});
    await expect(call).rejects.toMatchObject({ code, cause: { object: { code, message } } });
  });

  it("is kept with a message that is not escaped", async () => {
    const trailer = { "grpc-status": "5", "grpc-message": "100% gone" };
    const server = await serve((stream) => respond(stream, EMPTY, trailer));
    const call = callOver(server).unary(read, undefined, undefined, undefined, {});
    await expect(call).rejects.toMatchObject({ code: Code.NotFound, cause: { object: { message: "100% gone" } } });
  });

  it.each<[string, Code, (stream: ServerHttp2Stream) => void]>([
    ["a reset", Code.Canceled, (stream) => stream.close(constants.NGHTTP2_CANCEL)],
    [
      "a trailer without one",
      Code.DataLoss,
      (stream) => {
        stream.on("wantTrailers", () => stream.sendTrailers({ "x-other": "1" }));
        stream.end();
      },
    ],
  ])("of success in the header counts for nothing before %s", async (_, code, end) => {
    const server = await serve((stream) => {
      stream.respond({ ...GRPC, ...OK }, { waitForTrailers: true });
      end(stream);
    });
    const transport = callOver(server);
    const all = async () => {
      const { message } = await transport.stream(watch, undefined, undefined, undefined, given([{}]));
      const { values, error } = await taken(message);
      throw error ?? new Error(`${values.length} messages, and no error`);
    };
    await expect(all()).rejects.toMatchObject({ code });
  });
});

describe("a slow reader", () => {
  /** Of a size that fills frames of HTTP/2: a body that ends behind any of them ends behind a message. */
  const message = Buffer.alloc(16_384 - 5);
  message.set([0x0a, 0xf8, 0x7f]); // A field of 16 376 bytes.

  it.each([
    ["succeeds", OK, undefined],
    ["fails", { "grpc-status": "5" }, Code.NotFound],
  ])("gets all of an answer that %s, although its connection is lost", async (_, trailer, code) => {
    let cutAll = () => {};
    const server = await serve((stream, cut) => {
      respond(stream, Buffer.concat(Array.from({ length: 40 }, () => envelope(message))), trailer);
      cutAll = cut;
      stream.once("close", hasEnded.open);
    });
    const hasEnded = gate();
    const transport = callOver(server);
    const response = await transport.stream(send, undefined, undefined, undefined, given([{}]));
    const messages = response.message[Symbol.asyncIterator]();
    await messages.next();
    await hasEnded.promise;
    await answeredPing(server); // What was sent before the ping, the client has.
    cutAll();
    // Another call fails by the loss, or is made over a new connection: either way the client knows of the loss.
    const other = transport.stream(send, undefined, undefined, undefined, given([{}]));
    const isOverNewConnection = await other.then(
      () => true,
      () => false,
    );
    expect(server.sessions).toHaveLength(isOverNewConnection ? 2 : 1);
    const { values, error } = await taken({ [Symbol.asyncIterator]: () => messages });
    expect(values.map(({ value }) => value.length)).toEqual(Array(39).fill(16_376));
    expect(error === undefined ? undefined : ConnectError.from(error).code).toBe(code);
  });

  it("is sent no more empty messages than it can keep", async () => {
    const body = Buffer.concat(Array(200_000).fill(EMPTY));
    let sent = 0;
    const server = await serve((stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers(OK));
      const sendMore = () => {
        const part = body.subarray(sent, sent + 10_000);
        sent += part.length;
        if (part.length > 0) {
          stream.write(part, sendMore);
        } else {
          stream.end();
        }
      };
      sendMore();
    });
    const transport = callOver(server, { windowBytes: 65_535 });
    const { message } = await transport.stream(watch, undefined, undefined, undefined, given([{}]));
    await standsStill(() => sent);
    expect(sent).toBeLessThan(body.length / 2);
    expect((await taken(message)).values).toHaveLength(200_000);
  });
});
