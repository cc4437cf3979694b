// No request ends a local node: an error that a listener throws would end the process, and Jest fails the test with it.
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";

const small = { segments: 1, blocksPerSegment: 10, blockMs: 0, admin: true, rateLimit: { burst: 1e6 } } as const;
const METHOD = "/vega.api.v1.CoreService/LastBlockHeight";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode(small);
});
afterAll(() => node.close());

async function expectAnswers(): Promise<void> {
  for (const transport of ["grpc", "rest"] as const) {
    const client = createClient({ transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } });
    expect(await client.service(CoreService).lastBlockHeight({})).toMatchObject({ height: 10n });
    await client.close();
  }
}

const strangeHosts = [
  ...["::1:99", "", " ", "[", "[::1", "a b", "a/b", "%", "%zz", "http://x", "x:99999", "x:-1", ":80", "@", "u@h"],
  ...["*", "?", "#", "\\", "a\tb", "\xff\xfe", "{}", "__proto__", "a".repeat(5000)],
];
const strangePaths = [
  ...["*", "/", "//", "///x", "//[::1", "http://[::1", "http://x/blockchain/height", "/%", "/%zz", "\\", "x", "/\xff"],
  ...[`${METHOD}?`, `${METHOD}?%`, `${METHOD}?\xff`, `${METHOD}/`, `${METHOD}?message=%zz&connect=v1&encoding=json`],
  ...["/api/v2/market/%ff/depth/latest", "/api/v2/market/%/depth/latest", "/api/v2/orders?%", "/a:b:c", "/__proto__/x"],
  ...[
    "/api/v2/orders?__proto__.x=1",
    "/api/v2/orders?filter.x=%ff",
    "/admin/__proto__",
    "/stream/event/bus?%",
    "/health?",
  ],
];

/** Sends a call over HTTP/2, and returns the status of the answer; undefined if the node resets the call or connection. */
async function callHttp2(headers: Readonly<Record<string, string>>): Promise<unknown> {
  const session: ClientHttp2Session = connectHttp2(node.grpcUrl);
  session.on("error", () => undefined);
  try {
    return await new Promise((resolve) => {
      const call = session.request({ ":method": "POST", ":path": METHOD, te: "trailers", ...headers });
      call.on("error", () => undefined);
      call.once("response", ({ "grpc-status": status }) => status !== undefined && resolve(status));
      call.once("trailers", (trailers) => resolve(trailers["grpc-status"]));
      call.once("close", () => resolve(undefined));
      call.resume().end(Buffer.alloc(5));
    });
  } finally {
    await new Promise(setImmediate); // Node's heap is damaged if it is destroyed while its input is processed.
    session.destroy();
  }
}

/** Sends bytes to a server of the node, and returns the beginning of what it answers. */
function send(url: string, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const end = (answer: string) => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("error", () => undefined);
    socket.once("data", (data) => end(data.toString("latin1")));
    socket.once("close", () => end(""));
    socket.write(bytes, "latin1");
  });
}

const request = (line: string, ...headers: readonly string[]) =>
  `${line} HTTP/1.1\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`;
const websocket = [
  ...["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"],
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];
const h2c = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"];

describe("over HTTP/2", () => {
  const grpc = { "content-type": "application/grpc" };

  // grpc-go 1.60, which nodes use, parses no authority (internal/transport/http2_server.go, operateHeaders).
  test.each(["::1:99", "[", "%", "x:99999", ":80", "@"])("a call with the authority %j is answered", async (name) => {
    expect(await callHttp2({ ...grpc, ":authority": name })).toBe("0");
    expect(await callHttp2({ ...grpc, host: name })).toBe("0");
  });

  test("the node survives all authorities, paths and methods", async () => {
    for (const name of strangeHosts) {
      await callHttp2({ ...grpc, ":authority": name });
      await callHttp2({ ...grpc, host: name });
    }
    for (const path of strangePaths) {
      await callHttp2({ ...grpc, ":path": path });
      await callHttp2({ ":path": path });
    }
    for (const method of ["", "GET", "HEAD", "OPTIONS", "TRACE", "PRI", "x y", "\xff", "__proto__"]) {
      await callHttp2({ ...grpc, ":method": method });
    }
    for (const [name, value] of [
      ...[":scheme", "expect", "grpc-timeout", "grpc-encoding", "content-encoding", "content-type", "cookie", "x-bin"],
      ...["connect-protocol-version", "connect-timeout-ms", "content-length", "grpc-accept-encoding", "__proto__"],
    ].flatMap((name) => ["", "\xff", "-1", "100-continue", "application/grpc;\tx"].map((value) => [name, value]))) {
      await callHttp2({ ...grpc, [String(name)]: String(value) });
    }
    await expectAnswers();
  });
});

describe("over HTTP/1.1", () => {
  test("the node survives all hosts, paths, methods and upgrades", async () => {
    const requests = [
      ...strangeHosts.flatMap((name) =>
        [[], websocket, h2c].map((upgrade) => request("GET /stream/event/bus", `Host: ${name}`, ...upgrade)),
      ),
      ...strangePaths.flatMap((path) =>
        ["GET", "POST", "OPTIONS", "CONNECT", "HEAD", "PURGE"].flatMap((method) => [
          request(`${method} ${path}`, "Host: x"),
          request(`${method} ${path}`, "Host: x", ...websocket),
        ]),
      ),
      request("GET /x", "Host: x", "Connection: Upgrade", "Upgrade: "),
      request("GET /stream/event/bus", "Host: x", ...websocket, "Sec-WebSocket-Protocol: Bearer, \xff"),
      request("GET /x", "Host: x", "Expect: 100-continue"),
      request("GET /x", "Host: x", "Expect: x"),
      request("OPTIONS /x", "Host: x", "Origin: \xff", "Access-Control-Request-Method: GET"),
      request("GET /blockchain/height", "Host: x", "grpc-timeout: \xff"),
      "\xff\xfe\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
    ];
    for (const bytes of requests) {
      await send(node.restUrl, bytes);
      await send(node.grpcUrl, bytes);
    }
    await expectAnswers();
  });

  test.each([
    ["a WebSocket", websocket, "HTTP/1.1 101"],
    ["HTTP/2", h2c, '{"code":5,"message":"Not Found"'],
  ])(
    "a request for %s that does not wait for the answer before is answered behind it",
    async (_, upgrade, expected) => {
      const socket = connect(Number(new URL(node.restUrl).port), "127.0.0.1").setEncoding("latin1");
      socket.write(request("GET /health", "Host: x") + request("GET /x", "Host: x", ...upgrade));
      let answer = "";
      for await (const text of socket) {
        answer += String(text);
        if (answer.includes(expected)) {
          break;
        }
      }
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(answer.indexOf(expected)).toBeGreaterThan(answer.indexOf("ok"));
    },
  );
});
