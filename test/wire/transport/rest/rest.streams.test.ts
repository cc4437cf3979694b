import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { toJson } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { NodeError, ProtocolError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { type HttpBody, HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { knownTypes } from "../../../support/any.js";
import { cutEvery } from "../../../support/archives.js";
import { chunk, head, type RawAnswer, whole } from "../../../support/raw-http.js";
import {
  CHUNKED,
  data,
  failure,
  JSON_TYPE,
  ownFailure,
  result,
  startRestProbe,
  ZIP_TYPE,
} from "../../../support/rest-probe.js";

const { server, connect, exported, disconnect } = await startRestProbe();

afterEach(async () => {
  await disconnect();
  server.requests.length = 0;
});
afterAll(() => server.close());

type Probe = ReturnType<typeof connect>["client"];
const bodies: Readonly<Record<string, (client: Probe) => AsyncIterable<HttpBody>>> = {
  ExportLedgerEntries: (client) => client.exportLedgerEntries({}),
  ExportNetworkHistory: (client) => client.exportNetworkHistory({}),
};

it("all methods whose responses are parts of a body are called below", () => {
  const methods = TradingDataService.methods.filter(
    ({ methodKind, output }) => methodKind === "server_streaming" && output.typeName === HttpBodySchema.typeName,
  );
  expect(methods.map(({ name }) => name).sort()).toEqual(Object.keys(bodies));
});

// network-notes.md, "Export": "the gateway appends a JSON object {"error":{..}} straight after the last archive byte".
describe.each(Object.entries(bodies))("the body of %s over REST", (_, call) => {
  const error = { code: Code.Internal, message: "no segment", details: [] };
  const bytes = 'DATA\nwith a {, an {"err and {"error":1 in it\n';
  const body = Buffer.from(`${bytes}${JSON.stringify({ error })}`);

  it.each([1, 7, body.length])(
    "ends with the error that the gateway appended to it, in pieces of %s bytes",
    async (size) => {
      const header = head("200 OK", { ...ZIP_TYPE, ...CHUNKED });
      server.answer = { pieces: [header, ...cutEvery(body, size).map(chunk), chunk("")], ending: "end" };
      const parts: HttpBody[] = [];
      const ended = await failure(
        (async () => {
          for await (const part of call(connect().client)) {
            parts.push(part);
          }
        })(),
      );
      expect(data(parts)).toBe(bytes);
      expect(ended).toMatchObject({ code: Code.Internal, rawMessage: "no segment", cause: { object: error } });
      expect(ended.cause).toBeInstanceOf(NodeError);
    },
  );
});

describe("streams of envelopes over REST", () => {
  const extensions = [{ "@type": "type.googleapis.com/google.protobuf.StringValue", value: "é}{" }];
  const stream = `${result("PK\u0003\u0004", { extensions })}${result("")}${result("rest")}`;

  it.each([1, 2, 5])("may begin with a byte order mark, in pieces of %s bytes", async (size) => {
    const pieces = cutEvery(Buffer.from(`\ufeff${stream}`), size);
    const messages = await exported({ pieces: [head("200 OK", JSON_TYPE), ...pieces], ending: "end" });
    expect(data(messages)).toBe("PK\u0003\u0004rest");
  });

  it("may not begin with half of a byte order mark", async () => {
    const pieces = [head("200 OK", JSON_TYPE), Uint8Array.of(0xef, 0xbb), stream];
    const error = await ownFailure(exported({ pieces, ending: "end" }));
    expect(error.summary).toContain("expected a JSON object at byte 2");
  });

  it("are read the same wherever they are cut", async () => {
    const bytes = Buffer.from(stream);
    const places = fc.array(fc.nat(bytes.length), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(places, fc.boolean(), async (cuts, chunked) => {
        const bounds = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const pieces = bounds
          .slice(1)
          .map((end, index) => bytes.subarray(bounds[index], end))
          .filter(({ length }) => length > 0);
        const header = head("200 OK", { ...JSON_TYPE, ...(chunked ? CHUNKED : {}) });
        const messages = await exported({
          pieces: chunked ? [header, ...pieces.map(chunk), chunk("")] : [header, ...pieces],
          ending: "end",
        });
        await disconnect();
        expect(messages.map((message) => Buffer.from(message.data).toString("latin1"))).toEqual([
          "PK\u0003\u0004",
          "",
          "rest",
        ]);
        expect(
          messages.map((message) => message.extensions.map((any) => toJson(AnySchema, any, { registry: knownTypes }))),
        ).toEqual([extensions, [], []]);
        expect(messages[0]?.contentType).toBe("application/zip");
      }),
      { numRuns: 40 },
    );
  });

  it.each(["application/json", "application/x-ndjson", "application/vnd.node+json; v=1"])("may be %s", async (type) => {
    expect(data(await exported(whole("200 OK", stream, { "content-type": type })))).toBe("PK\u0003\u0004rest");
  });

  it("may be compressed", async () => {
    const answer = whole("200 OK", gzipSync(stream), { ...JSON_TYPE, "content-encoding": "GZIP" });
    expect(data(await exported(answer))).toBe("PK\u0003\u0004rest");
  });

  it("may be empty", async () => {
    expect(await exported(whole("200 OK", "", JSON_TYPE))).toEqual([]);
  });

  it("give their messages before the stream has ended, and then their error", async () => {
    const error = { code: 13, message: "segment lost", details: [{ "@type": "node.example/other.Thing" }] };
    const pieces = [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), chunk(result("PK"))];
    server.answer = { pieces: [...pieces, chunk(JSON.stringify({ error })), chunk("")], ending: "end" };
    const messages = connect().client.exportNetworkHistory({})[Symbol.asyncIterator]();
    expect((await messages.next()).value?.data).toHaveLength(2);
    const thrown = await failure(messages.next());
    expect({ code: thrown.code, message: thrown.rawMessage }).toEqual({ code: Code.Internal, message: "segment lost" });
  });

  it.each<[string, string]>([
    ["data of a chunk is not base64 (RFC 4648, section 4, with padding)", '{"result":{"data":"UE"}}'],
    ["a chunk has both a result and an error; it has the fields: result, error", '{"result":{},"error":{"code":5}}'],
    [
      "a chunk has neither a result nor an error; it has the fields: contentType, data",
      '{"contentType":"a","data":""}',
    ],
    ["the stream was truncated at byte 10, inside a JSON object", '{"result":'],
    ['expected a JSON object at byte 0, but found "[{}]"', "[{}]"],
    ["a message is larger than the limit", result("x".repeat(1000))],
    ["invalid JSON in the object that ends at byte 11", '{"result":}'],
  ])("refuse: %s", async (summary, body) => {
    const error = await ownFailure(exported(whole("200 OK", body, JSON_TYPE)));
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error.summary).toBe(summary);
  });

  it("fail where the connection is lost inside them", async () => {
    const begun = chunk(result("PK"));
    const reset: RawAnswer = { pieces: [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), begun], ending: "reset" };
    for (const answer of [reset, { ...reset, ending: "end" } as const]) {
      expect((await failure(exported(answer))).code).toBe(Code.Unavailable);
      await disconnect();
    }
  });
});

describe("raw bodies over REST", () => {
  it("stay as they were while more is read", async () => {
    const pieces = [3, 200_000, 100, 200_000, 300_000].map((size) => randomBytes(size));
    const messages = await exported({ pieces: [head("200 OK", ZIP_TYPE), ...pieces], ending: "end" });
    expect(Buffer.concat(messages.map((message) => message.data)).equals(Buffer.concat(pieces))).toBe(true);
  });

  it("become messages with the body's content type and no extensions", async () => {
    const pieces = ["PK\u0003\u0004", "abc", "def"].map((piece) => Buffer.from(piece, "latin1"));
    const messages = await exported({
      pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), ...pieces.map(chunk), chunk("")],
      ending: "end",
    });
    expect(data(messages)).toBe("PK\u0003\u0004abcdef");
    for (const message of messages) {
      expect(message).toMatchObject({ contentType: "application/zip", extensions: [] });
    }
  });

  it("may be compressed", async () => {
    const answer = whole("200 OK", gzipSync("PK..."), { ...ZIP_TYPE, "content-encoding": "gzip" });
    expect(data(await exported(answer))).toBe("PK...");
  });

  it("may be of any type: what the body is, is for the reader to judge", async () => {
    const [message] = await exported(whole("200 OK", "<html>", { "content-type": "text/html; charset=utf-8" }));
    expect(message?.contentType).toBe("text/html; charset=utf-8");
    expect((await exported(whole("200 OK", "PK")))[0]?.contentType).toBe("");
  });

  it.each<[string, RawAnswer]>([
    [
      "whose content-length is longer",
      { pieces: [head("200 OK", { ...ZIP_TYPE, "content-length": "10" }), "PK"], ending: "end" },
    ],
    [
      "whose chunked coding does not end",
      { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), chunk("PK")], ending: "end" },
    ],
    ["cut inside a chunk", { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), "5\r\nPK"], ending: "end" }],
    [
      "whose connection is reset",
      { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), chunk("PK")], ending: "reset" },
    ],
    ["cut in the head", { pieces: ["HTTP/1.1 200 OK\r\ncontent-ty"], ending: "end" }],
    ["that never came", { pieces: [], ending: "end" }],
    ["that was refused by a reset", { pieces: [], ending: "reset" }],
    ["of no HTTP", { pieces: ["SSH-2.0-x\r\n"], ending: "end" }],
    [
      "with a broken chunk length",
      { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), "zz\r\nPK"], ending: "end" },
    ],
  ])("fail: a body %s", async (_, answer) => {
    const { code, cause } = await failure(exported(answer));
    expect(code).toBe(Code.Unavailable);
    expect(cause).toBeInstanceOf(Error);
  });

  it("fail where gzip was cut", async () => {
    const body = gzipSync("PK...").subarray(0, -6);
    const answer = whole("200 OK", body, { ...ZIP_TYPE, "content-encoding": "gzip" });
    const error = await ownFailure(exported(answer));
    expect(error.summary).toBe("the compressed data of the response is corrupt");
  });
});
