import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import {
  HistorySegmentSchema,
  ListAllNetworkHistorySegmentsResponseSchema,
} from "../../gen/datanode/api/v2/trading_data_pb.js";
import { createClient } from "../../src/client.js";
import type { ClientConfig } from "../../src/config/schema.js";
import { ProtocolError } from "../../src/errors/index.js";
import { startRawHttp } from "../support/raw-http.js";
import { envelope, serveStreams } from "../support/servers.js";

/** So many segments without a field, each of which takes two bytes in Protobuf's binary form. */
const emptySegments = (count: number) => Buffer.alloc(count * 2, Buffer.from([0x0a, 0x00]));

/** The definition of the field says the same: the first field, of two bytes where it is empty. */
test("an empty segment has two bytes", () => {
  const answer = create(ListAllNetworkHistorySegmentsResponseSchema, { segments: [create(HistorySegmentSchema)] });
  expect(Buffer.from(toBinary(ListAllNetworkHistorySegmentsResponseSchema, answer))).toEqual(emptySegments(1));
});

async function listing(config: ClientConfig) {
  await using client = createClient(config);
  return await client.listSegments();
}

describe.each(["grpc", "grpc-js"] as const)("an answer of many empty elements, over %s", (transport) => {
  async function listingOf(count: number) {
    const server = await serveStreams((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.on("error", () => undefined);
      stream.end(envelope(emptySegments(count)));
    });
    try {
      return await listing({ transport, grpc: { url: server.url } });
    } finally {
      await server.close();
    }
  }

  test("is refused before it is decoded, by its elements", async () => {
    const before = process.memoryUsage().heapUsed;
    const error: unknown = await listingOf(30_000_000).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({
      code: Code.ResourceExhausted,
      summary: expect.stringContaining("more elements than"),
    });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(500_000_000); // Decoded, they have 4 GB.
  });

  test("is read where they are not too many", async () => {
    await expect(listingOf(1000)).resolves.toHaveLength(1000);
  });
});

test("an answer of many empty elements is refused over REST, too", async () => {
  const body = Buffer.from(`{"segments":[${"{},".repeat(4_000_000)}{}]}`);
  const server = await startRawHttp();
  const headers = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  server.answer = { pieces: [headers, body], ending: "end" };
  try {
    await expect(listing({ transport: "rest", rest: { url: server.url } })).rejects.toMatchObject({
      code: Code.ResourceExhausted,
      summary: expect.stringContaining("more elements than"),
    });
  } finally {
    await server.close();
  }
});
