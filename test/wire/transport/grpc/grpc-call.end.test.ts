// Servers that break HTTP/2's manners: each call ends, and nothing of it is left.
import { constants, type ServerHttp2Stream, type Settings } from "node:http2";
import { setImmediate as turn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createGrpcJsTransport, createGrpcTransport } from "tradewire/transport";
import { read, say, talk, watch } from "../../../support/probe.js";
import { envelope, serveStreams, type TestServer } from "../../../support/servers.js";
import { given, taken } from "../../../support/taken.js";

const makers = { grpc: createGrpcTransport, "grpc-js": createGrpcJsTransport };
const names = ["grpc", "grpc-js"] as const;
const GRPC = { ":status": 200, "content-type": "application/grpc+proto" };
/** A text of no characters. */
const EMPTY = envelope(new Uint8Array());

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) {
    await each.close();
  }
});

async function serve(answer: (stream: ServerHttp2Stream) => void, settings: Settings = {}): Promise<TestServer> {
  const server = await serveStreams(answer, settings);
  closing.push(server);
  return server;
}

function callOver(name: (typeof names)[number], { url }: TestServer) {
  const transport = makers[name]({ url });
  closing.push(transport);
  return transport;
}

describe.each(names)("over %s", (name) => {
  it("ends a call whose stream is reset as if nothing were wrong", async () => {
    const transport = callOver(name, await serve((stream) => stream.close(constants.NGHTTP2_NO_ERROR)));
    const cause = { summary: expect.stringMatching(/^the response was truncated/) };
    const unary = transport.unary(read, undefined, undefined, undefined, {});
    await expect(unary).rejects.toMatchObject({ code: Code.Internal, cause });
    const observed = async () => {
      const { message } = await transport.stream(watch, undefined, undefined, undefined, given([{}]));
      return taken(message);
    };
    await expect(observed().then(({ error }) => Promise.reject(error))).rejects.toMatchObject({
      code: Code.DataLoss,
      cause,
    });
  });

  it("keeps the code of an error whose message is not escaped", async () => {
    const transport = callOver(
      name,
      await serve((stream) => {
        stream.respond({ ...GRPC, "grpc-status": "5", "grpc-message": "100% gone" }, { endStream: true });
      }),
    );
    const object = { code: Code.NotFound, message: "100% gone", details: [] };
    await expect(transport.unary(read, undefined, undefined, undefined, {})).rejects.toMatchObject({
      code: Code.NotFound,
      cause: { object },
    });
  });

  it("sends no call again that the server refuses", async () => {
    let calls = 0;
    const server = await serve((stream) => {
      calls += 1;
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
    });
    const call = callOver(name, server).unary(say, undefined, undefined, undefined, {});
    await expect(call).rejects.toMatchObject({ code: Code.Unavailable });
    expect(calls).toBe(1);
  });

  it("takes nothing that the server pushes", async () => {
    const pushed: unknown[] = [];
    const server = await serve((stream) => {
      pushed.push(stream.pushAllowed);
      if (stream.pushAllowed) {
        stream.pushStream({ ":path": "/" }, (_, more) => more?.respond());
      }
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(EMPTY);
    });
    const transport = callOver(name, server);
    await transport.unary(read, undefined, undefined, undefined, {});
    await transport.close();
    expect(pushed).toEqual([name !== "grpc"]); // With grpc-js, the setting is that library's own.
  });
});

describe("over grpc, calls that meet the end of their connection are sent over another one, once", () => {
  const texts = Array.from({ length: 5 }, (_, turn) => `turn ${turn}`);

  /** Call again and again, each time when the connection's GOAWAY is on its way to the client. */
  async function saidBy(call: (transport: ReturnType<typeof callOver>, value: string) => Promise<unknown>) {
    const said: string[] = [];
    const server = await serve((stream) => {
      const frames: Uint8Array[] = [];
      stream.on("data", (bytes: Uint8Array) => frames.push(bytes));
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.on("end", () => {
        said.push(
          Buffer.concat(frames)
            .toString()
            .replaceAll(/[^ -~]/g, ""),
        );
        stream.end(EMPTY);
      });
    });
    const transport = callOver("grpc", server);
    for (const text of texts) {
      server.sessions.at(-1)?.goaway();
      await turn();
      await call(transport, text);
    }
    expect(server.sessions.length).toBe(texts.length);
    return said;
  }

  it("with one request", async () => {
    const said = await saidBy((transport, value) => transport.unary(say, undefined, undefined, undefined, { value }));
    expect(said).toEqual(texts);
  });

  it("with requests that stream", async () => {
    const said = await saidBy(async (transport, value) => {
      const requests = given([{ value }, { value: "and more" }]);
      const { message } = await transport.stream(talk, undefined, undefined, undefined, requests);
      expect((await taken(message)).error).toBeUndefined();
    });
    expect(said).toEqual(texts.map((text) => `${text}and more`));
  });
});

it("over grpc, a call fails where each connection is closed before anything of it has left", async () => {
  const server = await serveStreams(
    () => undefined,
    {},
    (session) => session.goaway(),
  );
  closing.push(server);
  const call = callOver("grpc", server).stream(watch, undefined, undefined, undefined, given([{}]));
  await expect(call).rejects.toMatchObject({ code: Code.Unavailable });
  expect(server.sessions.length).toBe(5);
});

it("over grpc, a client that is closed tells the server that nothing was wrong, though streams are open", async () => {
  let tell: (code: number) => void = () => undefined;
  const told = new Promise<number>((resolve) => {
    tell = resolve;
  });
  const server = await serveStreams(
    (stream) => {
      stream.respond(GRPC);
      stream.write(EMPTY);
    },
    {},
    (session) => session.on("goaway", tell),
  );
  closing.push(server);
  const transport = callOver("grpc", server);
  const { message } = await transport.stream(watch, undefined, undefined, undefined, given([{}]));
  const messages = message[Symbol.asyncIterator]();
  await messages.next();
  const next = messages.next();
  await transport.close();
  await expect(next).rejects.toMatchObject({ code: Code.Canceled });
  expect(await told).toBe(constants.NGHTTP2_NO_ERROR);
});
