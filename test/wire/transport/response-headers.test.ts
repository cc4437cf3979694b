import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { createClient } from "tradewire";
import { WebSocketServer } from "ws";
import { frame, startGrpcServer } from "../../support/grpc-server.js";
import { startRawHttp } from "../../support/raw-http.js";
import { type Way, ways } from "../../support/ways.js";

const headersOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, "v"]));

/** Start a server whose answers have a number of headers besides their own. */
async function startVerboseServer({ server: protocol }: Way, count: number) {
  const http2 = createHttp2Server({ maxSendHeaderBlockLength: 2 ** 24 }).on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.respond(
      { ":status": 200, "content-type": "application/grpc", ...headersOf(count) },
      { waitForTrailers: true },
    );
    stream.end(frame(new Uint8Array()));
  });
  const http = createHttpServer(({ url = "" }, response) => {
    response.writeHead(200, { "content-type": "application/json", connection: "close", ...headersOf(count) });
    response.end(url.includes("/stream/") ? "" : "{}");
  });
  if (protocol === "sockets") {
    const sockets = new WebSocketServer({ server: http });
    sockets.on("headers", (lines) => {
      lines.push(...Object.entries(headersOf(count)).map(([name, value]) => `${name}: ${value}`));
    });
    sockets.on("connection", (socket) => socket.send('{"result":{"events":[{"id":"1"}]}}'));
  }
  const server: Server = protocol === "grpc" ? http2 : http;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      http.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Call a server whose answer has a number of headers. */
async function callOver(way: Way, count: number): Promise<void> {
  await using server = await startVerboseServer(way, count);
  await using client = way.connect(server.url);
  await way.call(client);
}

// Node, http2.connect: `maxHeaderListPairs` is 128 by default. http: `maxHeadersCount` is 2000, and what is beyond is left out;
// `maxHeaderSize` is 16 KiB.
describe.each(ways.map((way) => [way.name, way] as const))("headers of a response over %s", (name, way) => {
  const most = name === "grpc-js" ? 120 : 990;

  it(`are taken, ${most} of them`, async () => {
    await callOver(way, most);
  });

  it("are refused if there are more than the limit, which the error names", async () => {
    const limit = name === "grpc-js" ? "128" : "1000";
    await expect(callOver(way, name === "grpc-js" ? 150 : 1100)).rejects.toThrow(`${limit}, of 65535 bytes together`);
  });
});

// gRPC over HTTP2, "Responses": the type begins with application/grpc. grpc-go takes what follows a `;` for parameters.
describe.each(["grpc", "grpc-js"] as const)("the content type of a response over %s", (transport) => {
  it.each([
    "application/grpc",
    "application/grpc; charset=utf-8",
    "application/grpc+proto;v=1",
    "Application/gRPC+Proto ; a=b",
  ])("may be %s", async (contentType) => {
    const server = await startGrpcServer();
    server.answer = {
      headers: { "content-type": contentType },
      pieces: [frame(new Uint8Array())],
      ending: { "grpc-status": "0" },
    };
    await using client = createClient({ transport, grpc: { url: server.url }, retry: { tries: 1 } });
    expect(await client.listSegments()).toEqual([]);
    await server.close();
  });

  it.each([
    "text/html; charset=utf-8",
    "application/grpc-web; a=b",
    "application/grpcs",
    "application/grpc+thrift; a=b",
  ])("may not be %s, and the error shows all of it", async (contentType) => {
    const server = await startGrpcServer();
    server.answer = { headers: { "content-type": contentType }, ending: { "grpc-status": "0" } };
    await using client = createClient({ transport, grpc: { url: server.url }, retry: { tries: 1 } });
    await expect(client.listSegments()).rejects.toThrow(`unexpected response with content type ${contentType} (`);
    await server.close();
  });
});

// network-notes.md, "Gateway JSON": an error of a unary call comes with two content-type headers.
describe("two content types over REST", () => {
  const both = "content-type: application/json\r\ncontent-type: application/grpc\r\n";
  const answerOf = (status: string, body: string) => ({
    pieces: [`HTTP/1.1 ${status}\r\n${both}content-length: ${body.length}\r\n\r\n${body}`],
    ending: "end" as const,
  });

  it.each(["listSegments", "exportLedgerEntries"] as const)("leave an error what it is: %s", async (method) => {
    const server = await startRawHttp();
    server.answer = answerOf("404 Not Found", '{"code":5,"message":"no such thing","details":[]}');
    await using client = createClient({ transport: "rest", rest: { url: server.url }, retry: { tries: 1 } });
    const call = async () => {
      if (method === "listSegments") {
        await client.listSegments();
      }
      for await (const _ of client.exportLedgerEntries({ partyId: "ab".repeat(32) }).bytes()) {
        // Only the failure matters here.
      }
    };
    await expect(call()).rejects.toThrow("the node answered NOT_FOUND: no such thing");
    await server.close();
  });

  it("leave a message what it is", async () => {
    const server = await startRawHttp();
    server.answer = answerOf("200 OK", '{"segments":[]}');
    await using client = createClient({ transport: "rest", rest: { url: server.url }, retry: { tries: 1 } });
    expect(await client.listSegments()).toEqual([]);
    await server.close();
  });
});
