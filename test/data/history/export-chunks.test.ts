import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Any, AnySchema, anyPack, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { ConnectionError, type ExportChunk, exportChunks, NodeError } from "tradewire";
import { type HttpBody, HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";

async function* messages(bodies: readonly HttpBody[], error?: Error): AsyncGenerator<HttpBody> {
  yield* bodies;
  if (error !== undefined) {
    throw error;
  }
}

async function chunks(source: AsyncIterable<HttpBody>): Promise<ExportChunk[]> {
  const all = [];
  for await (const chunk of exportChunks(source)) {
    all.push(chunk);
  }
  return all;
}

function body(extensions: readonly Any[], data = Uint8Array.of(1, 2, 3)): HttpBody {
  const message = create(HttpBodySchema, { contentType: "application/zip", data, extensions: [...extensions] });
  return fromBinary(HttpBodySchema, toBinary(HttpBodySchema, message));
}

const lost = new ConnectionError("the connection was lost", { code: Code.Unavailable, advice: "Try again." });
const refused = new NodeError({
  code: Code.InvalidArgument,
  message: "no such range",
  details: [{ "@type": "type.googleapis.com/vega.ErrorDetail", code: 20_002, message: "invalid range", inner: "" }],
});

describe("exportChunks", () => {
  it("makes a result of each message, known extensions by their fields and unknown ones as they came", async () => {
    const detail = create(ErrorDetailSchema, { code: 7, message: "m", inner: "i" });
    const extensions = [
      anyPack(ErrorDetailSchema, detail),
      anyPack(StringValueSchema, create(StringValueSchema, { value: "text" })),
      create(AnySchema, { typeUrl: "example.org/a.b.C", value: Uint8Array.of(255, 0) }),
    ];
    expect(await chunks(messages([body(extensions), body([])]))).toEqual([
      {
        result: {
          contentType: "application/zip",
          data: Uint8Array.of(1, 2, 3),
          extensions: [
            { "@type": "type.googleapis.com/vega.ErrorDetail", code: 7, message: "m", inner: "i" },
            { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "text" },
            { "@type": "example.org/a.b.C", value: "/wA=" },
          ],
        },
      },
      { result: { contentType: "application/zip", data: Uint8Array.of(1, 2, 3), extensions: [] } },
    ]);
  });

  it("makes the last chunk of the node's failing status", async () => {
    const all = await chunks(messages([body([])], refused));
    expect(all).toHaveLength(2);
    expect(all[1]).toEqual({ error: refused.object });
  });

  it("makes no chunk of a connection that was lost", async () => {
    await expect(chunks(messages([body([])], lost))).rejects.toBe(lost);
  });

  it("stops the messages when it is stopped", async () => {
    let stopped = false;
    async function* endless(): AsyncGenerator<HttpBody> {
      try {
        for (;;) {
          yield body([]);
        }
      } finally {
        stopped = true;
      }
    }
    for await (const { result } of exportChunks(endless())) {
      expect(result?.data).toHaveLength(3);
      break;
    }
    expect(stopped).toBe(true);
  });
});
