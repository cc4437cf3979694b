import { brotliCompressSync, gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import { ProtocolError } from "tradewire";
import { chunk, head, whole } from "../../../support/raw-http.js";
import { CHUNKED, JSON_TYPE, ownFailure, startRestProbe } from "../../../support/rest-probe.js";

const SEGMENT = { fromHeight: "1", toHeight: "1000", databaseVersion: "3", chainId: "chain-1" };
const { server, segments, exported, disconnect } = await startRestProbe();

afterEach(async () => {
  await disconnect();
  server.requests.length = 0;
});
afterAll(() => server.close());

describe("unary calls over REST", () => {
  it("read a message, and ignore fields that are not known", async () => {
    const json = JSON.stringify({ segments: [{ ...SEGMENT, laterField: {} }], more: [1] });
    const [segment, ...rest] = await segments(
      whole("200 OK", json, { "content-type": "Application/JSON; charset=utf-8" }),
    );
    expect(rest).toEqual([]);
    expect(segment).toMatchObject({ fromHeight: 1n, toHeight: 1000n, databaseVersion: 3n, chainId: "chain-1" });
  });

  // RFC 9110, 15.3: each 2xx is a success; 204 and 205 have no content.
  it.each(["200 OK", "201 Created", "203 Non-Authoritative", "206 Partial Content", "299 Odd"])(
    "take %s for a success",
    async (status) => {
      const json = JSON.stringify({ segments: [SEGMENT] });
      expect(await segments(whole(status, json, JSON_TYPE))).toMatchObject([{ toHeight: 1000n }]);
    },
  );

  it.each(["204 No Content", "205 Reset Content"])("take %s for an empty message", async (status) => {
    expect(await segments({ pieces: [head(status, { "content-length": "0" })], ending: "keep" })).toEqual([]);
    expect(await exported({ pieces: [head(status, { "content-length": "0" })], ending: "keep" })).toEqual([]);
  });

  it("read a body in chunks, cut anywhere", async () => {
    const json = Buffer.from(JSON.stringify({ segments: [{ chainId: "é🦊" }] }));
    const pieces = [...json].map((byte) => chunk(Uint8Array.of(byte)));
    const [segment] = await segments({
      pieces: [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), ...pieces, chunk("")],
      ending: "end",
    });
    expect(segment?.chainId).toBe("é🦊");
  });

  it("read a body that ends with the connection", async () => {
    const pieces = [head("200 OK", JSON_TYPE), '{"segments":', "[{}]}"];
    expect(await segments({ pieces, ending: "end" })).toHaveLength(1);
  });

  it.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ])("read a body that is compressed with %s", async (encoding, compress) => {
    const body = compress(JSON.stringify({ segments: [SEGMENT] }));
    expect(await segments(whole("200 OK", body, { ...JSON_TYPE, "content-encoding": encoding }))).toHaveLength(1);
  });

  it.each<[string, string, string | Uint8Array, Record<string, string>, Code]>([
    [
      'unexpected response with content type text/html; charset=utf-8; it starts with "<html>"',
      "200 OK",
      "<html>",
      { "content-type": "text/html; charset=utf-8" },
      Code.Unknown,
    ],
    [`unexpected response with no content type; it starts with "{}"`, "200 OK", "{}", {}, Code.Unknown],
    ["unexpected response with no content type", "200 OK", "", {}, Code.Unknown],
    ["the response is empty", "200 OK", "", JSON_TYPE, Code.Unimplemented],
    ["the response does not match its definition", "200 OK", '{"segments":[', JSON_TYPE, Code.Internal],
    ["the response does not match its definition", "200 OK", Uint8Array.of(0x22, 0xff, 0x22), JSON_TYPE, Code.Internal],
    ["the response does not match its definition", "200 OK", "{}{}", JSON_TYPE, Code.Internal],
    ["a message is larger than the limit", "200 OK", " ".repeat(1025), JSON_TYPE, Code.ResourceExhausted],
    [
      "the response uses a compression that was not requested",
      "200 OK",
      "{}",
      { ...JSON_TYPE, "content-encoding": "zstd" },
      Code.Internal,
    ],
    [
      "the response uses a compression that was not requested",
      "200 OK",
      "{}",
      { ...JSON_TYPE, "content-encoding": "gzip, gzip" },
      Code.Internal,
    ],
    ...["gzip", "br"].map((encoding): [string, string, string, Record<string, string>, Code] => [
      "the compressed data of the response is corrupt",
      "200 OK",
      "{}",
      { ...JSON_TYPE, "content-encoding": encoding },
      Code.DataLoss,
    ]),
    [
      "the compressed data of the response is corrupt",
      "200 OK",
      brotliCompressSync("{}").subarray(0, -2),
      { ...JSON_TYPE, "content-encoding": "br" },
      Code.DataLoss,
    ],
    [
      "the compressed data of the response is corrupt",
      "200 OK",
      gzipSync("{}").subarray(0, -4),
      { ...JSON_TYPE, "content-encoding": "gzip" },
      Code.DataLoss,
    ],
  ])("refuse: %s", async (summary, status, body, headers, code) => {
    const error = await ownFailure(segments(whole(status, body, headers)));
    expect(error).toBeInstanceOf(ProtocolError);
    expect({ summary: error.summary, code: error.code }).toEqual({ summary, code });
  });

  it.each(['{"segments":{}}', '{"segments":[{"fromHeight":"x"}]}', "[]", "null", "1"])(
    "refuse JSON that does not fit: %s",
    async (json) => {
      const error = await ownFailure(segments(whole("200 OK", json, JSON_TYPE)));
      expect(error).toBeInstanceOf(ProtocolError);
      expect(error.summary).toBe("the response does not match its definition");
    },
  );

  it("do not wait for the end of a body that is over the limit", async () => {
    const pieces = [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), chunk(" ".repeat(2000))];
    const { code } = await ownFailure(segments({ pieces, ending: "keep" }));
    expect(code).toBe(Code.ResourceExhausted);
    await server.requests[0]?.closed;
  });

  it("do not wait for the end of a body that cannot be read", async () => {
    const pieces = [head("200 OK", { ...JSON_TYPE, ...CHUNKED, "content-encoding": "zstd" }), chunk("{")];
    expect((await ownFailure(segments({ pieces, ending: "keep" }))).summary).toMatch(
      /^the response uses a compression/,
    );
    await server.requests[0]?.closed;
  });
});
