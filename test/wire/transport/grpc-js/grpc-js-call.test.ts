import type { Http2Session, ServerHttp2Stream } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterEach, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import {
  ListAllNetworkHistorySegmentsResponseSchema,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { createGrpcJsTransport } from "tradewire/transport";
import { envelope, serveStreams } from "../../../support/servers.js";

const { observeEventBus, observeMarketsData, listAllNetworkHistorySegments } = TradingDataService.method;
const GRPC = { ":status": 200, "content-type": "application/grpc" };
const SEGMENTS = envelope(
  toBinary(ListAllNetworkHistorySegmentsResponseSchema, create(ListAllNetworkHistorySegmentsResponseSchema)),
);
/** Longer than a call may be silent without making its connection doubtful. */
const LATE_MS = 600;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) {
    await close();
  }
});

/** A client of a node that answers a call of one method as the test says, and counts its connections. */
async function clientOf(answer: (stream: ServerHttp2Stream) => void) {
  const sessions: Http2Session[] = [];
  const node = await serveStreams(answer, {}, (session) => sessions.push(session));
  const client = createClient({ transport: "grpc-js", grpc: { url: node.url }, retry: { tries: 1 } });
  const transport = createGrpcJsTransport({ url: node.url, limits: { maxMessageBytes: 1000 } });
  closing.push(
    () => node.close(),
    () => client.close(),
    () => transport.close(),
  );
  return { client, transport, sessions };
}

function answerAll(stream: ServerHttp2Stream, type = "application/grpc", ...messages: readonly Uint8Array[]): void {
  stream.respond({ ...GRPC, "content-type": type }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  for (const message of messages) {
    stream.write(message);
  }
  stream.end();
}

test("an error that consists of headers alone and comes late leaves the connection to the next call", async () => {
  let calls = 0;
  const { client, sessions } = await clientOf((stream) => {
    calls += 1;
    const error = { ...GRPC, "grpc-status": "5", "grpc-message": "none" };
    if (calls === 1) {
      setTimeout(() => stream.respond(error, { endStream: true }), LATE_MS);
    } else {
      answerAll(stream, "application/grpc", SEGMENTS);
    }
  });
  await expect(client.listSegments()).rejects.toThrow("none");
  expect(await client.listSegments()).toEqual([]);
  expect(sessions).toHaveLength(1);
});

test("a stream that is left after its header came late leaves the connection to the next call", async () => {
  let calls = 0;
  const leaving = new AbortController();
  const { transport, sessions } = await clientOf((stream) => {
    calls += 1;
    if (calls === 1) {
      setTimeout(() => {
        stream.respond(GRPC);
        stream.session?.ping(() => leaving.abort()); // Answered behind the header.
      }, LATE_MS);
    } else {
      answerAll(stream, "application/grpc", SEGMENTS);
    }
  });
  const request = createAsyncIterable([{}]);
  await expect(transport.stream(observeMarketsData, leaving.signal, undefined, undefined, request)).rejects.toThrow();
  await transport.unary(listAllNetworkHistorySegments, undefined, undefined, undefined, {});
  expect(sessions).toHaveLength(1);
});

test.each([{}, { "grpc-status": "0" }])(
  "a type is named also where the response is headers alone: %j",
  async (status) => {
    const html = { ":status": 200, "content-type": "text/html", ...status };
    const { client } = await clientOf((stream) => stream.respond(html, { endStream: true }));
    await expect(client.listSegments({ timeoutMs: 20_000 })).rejects.toThrow(
      "unexpected response with content type text/html",
    );
  },
);

test("a response without a type is said to have none", async () => {
  const { client } = await clientOf((stream) => {
    stream.respond({ ":status": 200 }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(SEGMENTS);
  });
  await expect(client.listSegments({ timeoutMs: 20_000 })).rejects.toThrow("unexpected response with no content type");
});

test("a message that waits when a stream is left is not handed out", async () => {
  let calls = 0;
  const { transport } = await clientOf((stream) => {
    calls += 1;
    if (calls === 1) {
      stream.respond(GRPC);
      stream.write(Buffer.concat([SEGMENTS, SEGMENTS]));
    } else {
      answerAll(stream, "application/grpc", SEGMENTS);
    }
  });
  const leaving = new AbortController();
  const requests = createAsyncIterable([{}]);
  const left = await transport.stream(observeMarketsData, leaving.signal, undefined, undefined, requests);
  const messages = left.message[Symbol.asyncIterator]();
  expect((await messages.next()).done).toBe(false);
  await transport.unary(listAllNetworkHistorySegments, undefined, undefined, undefined, {}); // Behind the second message.
  leaving.abort();
  await expect(messages.next()).rejects.toThrow();
});

test("a stream without messages that consists of headers alone ends", async () => {
  const { client } = await clientOf((stream) => stream.respond({ ...GRPC, "grpc-status": "0" }, { endStream: true }));
  const taken = [];
  for await (const answer of client.service(TradingDataService).observeMarketsData({}, { timeoutMs: 20_000 })) {
    taken.push(answer);
  }
  expect(taken).toEqual([]);
});

test("no more requests are taken once the node has ended the call", async () => {
  const { transport } = await clientOf((stream) =>
    stream.respond({ ...GRPC, "grpc-status": "0" }, { endStream: true }),
  );
  const stopped = new Promise<void>((stop) => {
    async function* requests() {
      try {
        for (;;) {
          yield {};
          await new Promise(setImmediate);
        }
      } finally {
        stop();
      }
    }
    void transport.stream(observeEventBus, undefined, undefined, undefined, requests());
  });
  await stopped;
});

test.each(["text/html", "application/grpc-web+proto", "application/grpc+json", "application/grpcs"])(
  "messages of the type %s are not read, and the type is named",
  async (type) => {
    const { client } = await clientOf((stream) => answerAll(stream, type, SEGMENTS, SEGMENTS));
    await expect(client.listSegments({ timeoutMs: 20_000 })).rejects.toThrow(
      `unexpected response with content type ${type}`,
    );
  },
);
