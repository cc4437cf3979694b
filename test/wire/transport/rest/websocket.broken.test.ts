import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { BannedError, Code, ConnectionError, NodeError, ProtocolError } from "tradewire";
import { asking, eventFrame, observe, readAll, restClient } from "../../../support/bus.js";
import { closedUrl, serveTcp } from "../../../support/node.js";
import {
  head,
  type RawAnswer,
  type RawHttpServer,
  type RawRequest,
  startRawHttp,
  whole,
} from "../../../support/raw-http.js";
import { opening, socketFrame } from "../../../support/socket-server.js";
import { useVirtualRuntime } from "../../../support/virtual-runtime.js";

let server: RawHttpServer;
beforeEach(async () => {
  server = await startRawHttp();
});
afterEach(() => server.close());

type Options = Parameters<typeof restClient>[1];

/** Call a server that answers so, and read what comes. */
async function talkTo(answer: RawAnswer | ((request: RawRequest) => RawAnswer), options: Options = {}) {
  server.answer = answer;
  await using client = restClient(server.url, options);
  return await readAll(observe(client, asking(1n)));
}

/** The same with a client that waits 200 ms for its connection, in virtual time. */
async function talkBriefly(answer: RawAnswer) {
  using runtime = useVirtualRuntime({ io: true });
  return await runtime.until(talkTo(answer, { timeouts: { connectMs: 200 } }));
}

/** A server that opens a socket and sends these bytes over it. */
function sends(ending: RawAnswer["ending"], ...pieces: (string | Uint8Array)[]) {
  return (request: RawRequest): RawAnswer => ({ pieces: [opening(request), ...pieces], ending });
}

const one = socketFrame(eventFrame("1"));
const lost = { code: Code.Unavailable, connected: true, summary: `the connection was lost (URL)` };

function withoutUrl({ ids, error }: Awaited<ReturnType<typeof readAll>>) {
  const summary = error?.summary.replace(server.url, "URL");
  const connected = error instanceof ConnectionError ? { connected: error.connected } : {};
  return { ids, name: error?.name, error: { code: error?.code, summary, ...connected } };
}

describe("a socket that ends is a connection lost, after what came", () => {
  it.each<[string, RawAnswer["ending"], (string | Uint8Array)[]]>([
    ["without a word", "end", [one]],
    ["by a reset", "reset", [one]],
    ["with a close frame, code 1000", "keep", [one, socketFrame(Buffer.from([0x03, 0xe8]), 0x88)]],
    [
      "with a close frame, code 1011 and a reason",
      "keep",
      [one, socketFrame(Buffer.from("\x03\xf3why", "latin1"), 0x88)],
    ],
    ["with a close frame without a code", "end", [one, socketFrame("", 0x88)]],
    ["in the middle of a frame", "end", [one, socketFrame(eventFrame("2")).subarray(0, 20)]],
    ["in the head of a frame", "end", [one, socketFrame(eventFrame("2")).subarray(0, 1)]],
    ["in the middle of a message", "end", [one, socketFrame('{"result":', 0x01)]],
  ])("%s", async (_, ending, pieces) => {
    const found = await talkTo(sends(ending, ...pieces));
    expect(withoutUrl(found)).toEqual({ ids: ["1"], name: "ConnectionError", error: lost });
  });
});

describe("frames are read", () => {
  const end = { name: "ConnectionError", error: lost };
  const withOne = (request: RawRequest) => Buffer.concat([Buffer.from(opening(request)), one]);

  it("byte by byte, also where they come with the answer that opens the socket", async () => {
    const found = await talkTo((request) => ({
      pieces: [...withOne(request)].map((byte) => Buffer.from([byte])),
      ending: "end",
    }));
    expect(withoutUrl(found)).toEqual({ ids: ["1"], ...end });
    const together = await talkTo((request) => ({ pieces: [withOne(request)], ending: "end" }));
    expect(withoutUrl(together)).toEqual({ ids: ["1"], ...end });
  });

  it("of bytes, of several parts with a ping between, and of nothing but spaces around", async () => {
    const found = await talkTo(
      sends(
        "end",
        socketFrame(eventFrame("1"), 0x82),
        socketFrame('{"result":{"events":', 0x01),
        socketFrame("?", 0x89),
        socketFrame('[{"id":"2"}]}}', 0x80),
        socketFrame(` ${eventFrame("3")}\n`),
      ),
    );
    expect(withoutUrl(found)).toEqual({ ids: ["1", "2", "3"], ...end });
  });

  it("up to the limit, and not beyond it: neither one that tells its length nor one of many parts", async () => {
    const limits = { limits: { maxJsonBytes: 100 } };
    const [fits, large] = [100, 101].map((size) => eventFrame("x".repeat(size - eventFrame("").length)));
    const fitting = await talkTo(sends("end", socketFrame(fits ?? "")), limits);
    expect(fitting.ids).toHaveLength(1);
    const tooLarge = {
      ids: ["1"],
      name: "ProtocolError",
      error: { code: Code.ResourceExhausted, summary: "a message is larger than the limit" },
    };
    for (const frames of [
      [socketFrame(large ?? "")],
      [socketFrame("", 0x81, 2 ** 40)],
      [socketFrame("", 0x81, 2 ** 60)],
      [socketFrame(" ".repeat(60), 0x01), socketFrame(" ".repeat(60), 0x80)],
    ]) {
      expect(withoutUrl(await talkTo(sends("keep", one, ...frames), limits))).toEqual(tooLarge);
    }
  });
});

describe("an answer that breaks the rules is a ProtocolError, after what came", () => {
  it.each<[string, Uint8Array, Code, string]>([
    ["text that is no JSON", socketFrame("<html>"), Code.DataLoss, "invalid JSON in the object that ends at byte 6"],
    ["JSON that is no object", socketFrame("[1]"), Code.DataLoss, 'expected a JSON object, but found "[1]"'],
    ["an empty frame", socketFrame(""), Code.DataLoss, "invalid JSON in the object that ends at byte 0"],
    [
      "an object that is cut",
      socketFrame('{"result":'),
      Code.DataLoss,
      "invalid JSON in the object that ends at byte 10",
    ],
    [
      "bytes that are no text",
      socketFrame(Buffer.from([0xff]), 0x82),
      Code.DataLoss,
      "invalid JSON in the object that ends at byte 1",
    ],
    [
      "an object without a result",
      socketFrame("{}"),
      Code.DataLoss,
      "a chunk has neither a result nor an error; it has the fields: none",
    ],
    [
      "a result of another type",
      socketFrame('{"result":{"events":3}}'),
      Code.Internal,
      "the response does not match its definition",
    ],
    [
      "text that is not UTF-8",
      socketFrame(Buffer.from([0xff])),
      Code.Internal,
      "the server violated the WebSocket protocol: Invalid WebSocket frame: invalid UTF-8 sequence",
    ],
    [
      "a frame of an unknown kind",
      socketFrame("", 0x83),
      Code.Internal,
      "the server violated the WebSocket protocol: Invalid WebSocket frame: invalid opcode 3",
    ],
    [
      "a frame that is compressed",
      socketFrame("", 0xc1),
      Code.Internal,
      "the server violated the WebSocket protocol: Invalid WebSocket frame: RSV1 must be clear",
    ],
  ])("%s", async (_, bytes, code, summary) => {
    const found = await talkTo(sends("keep", one, bytes));
    expect(withoutUrl(found)).toEqual({ ids: ["1"], name: "ProtocolError", error: { code, summary } });
    expect(found.error).toBeInstanceOf(ProtocolError);
  });

  it.each<[string, Record<string, string>, string]>([
    ["another digest", { "sec-websocket-accept": "no" }, "Invalid Sec-WebSocket-Accept header"],
    ["another protocol", { upgrade: "h2c" }, "Invalid Upgrade header"],
    ["a subprotocol", { "sec-websocket-protocol": "x" }, "Server sent a subprotocol but none was requested"],
  ])("the answer to the request for a socket has %s", async (_, changes, reason) => {
    const found = await talkTo((request) => ({ pieces: [opening(request, changes)], ending: "keep" }));
    expect(withoutUrl(found)).toEqual({
      ids: [],
      name: "ProtocolError",
      error: { code: Code.Internal, summary: `the response does not open a WebSocket: ${reason}` },
    });
  });
});

describe("an error in a frame is the node's", () => {
  const object = {
    code: 9,
    message: "no such market",
    details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "GONE", domain: "d", metadata: {} }],
  };

  it.each(["end", "reset", "keep"] as const)(
    "with its code and details, whatever comes of the socket: %s",
    async (ending) => {
      const { ids, error } = await talkTo(
        sends(ending, Buffer.concat([one, socketFrame(JSON.stringify({ error: object }))])),
      );
      expect(ids).toEqual(["1"]);
      expect(error).toBeInstanceOf(NodeError);
      expect(error).toMatchObject({ code: Code.FailedPrecondition, details: [{ reason: "GONE" }] });
    },
  );
});

describe("an answer that opens no socket is an error as any other", () => {
  it("of its status, or of its error object", async () => {
    const page = await talkTo(whole("404 Not Found", "<html>nothing here</html>", { "content-type": "text/html" }));
    expect(page.error).toMatchObject({ name: "ProtocolError", code: Code.Unimplemented });
    expect(page.error?.message).toContain(
      'the response does not open a WebSocket: HTTP 404: "<html>nothing here</html>"',
    );
    expect(page.error?.message).toContain("need grpc-gateway's WebSocket proxy,");
    expect(page.error?.message).toContain("or gRPC.");
    const body = JSON.stringify({ code: 16, message: "who are you", details: [] });
    const object = await talkTo(whole("401 Unauthorized", body));
    expect(object.error).toMatchObject({ name: "NodeError", code: Code.Unauthenticated });
    expect(object.error?.summary).toContain("who are you");
    const moved = await talkTo(whole("302 Found", "", { location: "http://elsewhere.example/" }));
    expect(moved.error?.summary).toContain('a redirect to "http://elsewhere.example/", which is not followed');
    const fine = await talkTo(whole("200 OK", "hello"));
    expect(fine.error).toMatchObject({
      name: "ProtocolError",
      code: Code.Unimplemented,
      summary: "the response does not open a WebSocket: HTTP 200",
    });
  });

  it("429 and 403 tell the pace of later calls", async () => {
    const limit = { "ratelimit-limit": "20", "ratelimit-remaining": "0", "ratelimit-reset": "1" };
    const refused = await talkTo(whole("429 Too Many Requests", "slower", limit));
    expect(refused.error).toMatchObject({ name: "NodeError", code: Code.ResourceExhausted });
    const banned = await talkTo(whole("403 Forbidden", "go away", { "ratelimit-retry-after": "600" }));
    expect(banned.error).toBeInstanceOf(BannedError);
  });

  it("of its status where its body is cut, and where it does not end in time", async () => {
    const length = { "content-length": "100" };
    const cut = await talkTo({ pieces: [head("503 Service Unavailable", length), "so"], ending: "end" });
    expect(cut.error).toMatchObject({ name: "NodeError", code: Code.Unavailable });
    const stalled = { pieces: [head("503 Service Unavailable", length), "so"], ending: "keep" } as const;
    const { error } = await talkBriefly(stalled);
    expect(error).toMatchObject({ name: "NodeError", code: Code.Unavailable });
    expect(error?.summary).toContain("HTTP 503");
    await server.requests.at(-1)?.closed;
  });

  it("whose body is not read to its end", async () => {
    const endless = (function* () {
      yield head("500 Internal Server Error");
      for (;;) {
        yield Buffer.alloc(64 * 1024, "x");
      }
    })();
    const { error } = await talkTo({ pieces: endless, ending: "end" });
    expect(error?.summary).toContain("with a body of more than 1048576 bytes, which was");
    await server.requests.at(-1)?.closed;
  });
});

describe("a socket that does not open", () => {
  it("has sent nothing where no connection was made", async () => {
    await using client = restClient(await closedUrl());
    const { error } = await readAll(observe(client, asking(1n)));
    expect(error).toMatchObject({ name: "ConnectionError", code: Code.Unavailable, connected: false });
    expect(error?.summary).toMatch(/^the connection was refused/);
  });

  it("may have arrived where there was a connection", async () => {
    expect(withoutUrl(await talkTo({ pieces: [], ending: "reset" }))).toEqual({
      ids: [],
      name: "ConnectionError",
      error: lost,
    });
    const silent = await talkBriefly({ pieces: [], ending: "keep" });
    expect(withoutUrl(silent).error).toEqual({
      code: Code.Unavailable,
      connected: true,
      summary: "the WebSocket did not open in time (URL)",
    });
    await server.requests.at(-1)?.closed;
  });

  it("speaks to a server of another protocol", async () => {
    await using other = await serveTcp((socket) => socket.write("SSH-2.0-x\r\n"));
    await using client = restClient(other.url);
    const { error } = await readAll(observe(client, asking(1n)));
    expect(error?.summary).toMatch(/^the server does not speak the protocol of this transport/);
  });
});
