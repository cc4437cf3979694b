import { brotliCompressSync, gunzipSync, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import { type ClosableTransport, ProtocolError } from "tradewire";
import {
  GetOrderRequestSchema,
  ListAllNetworkHistorySegmentsResponseSchema,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { createGrpcJsTransport, createGrpcTransport, createRestTransport } from "tradewire/transport";
import { frame, startGrpcServer } from "../../support/grpc-server.js";
import { usedMemory } from "../../support/memory.js";
import { startRawHttp, whole } from "../../support/raw-http.js";
import { failure, ownFailure } from "../../support/rest-probe.js";
import { serveRoutes } from "../../support/servers.js";

const MIB = 1024 * 1024;
const OK = { "grpc-status": "0" };
const GZIPPED = { "grpc-encoding": "gzip" };
const text = "x".repeat(MIB);
const listed = create(ListAllNetworkHistorySegmentsResponseSchema, { segments: [{ chainId: text }] });
const bytes = toBinary(ListAllNetworkHistorySegmentsResponseSchema, listed);

const node = await startGrpcServer();
const gateway = await startRawHttp();
const open: ClosableTransport[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((transport) => transport.close()));
  node.calls.length = 0;
});
afterAll(() => Promise.all([node.close(), gateway.close()]));

function over<T extends ClosableTransport>(transport: T) {
  open.push(transport);
  return createClient(TradingDataService, transport);
}

const grpcTransports = [
  ["grpc", createGrpcTransport],
  ["grpc-js", createGrpcJsTransport],
] as const;

describe.each(grpcTransports)("compression over %s", (_, createTransport) => {
  it("makes a response of repeated text a thousandth as large", async () => {
    const server = await serveRoutes((router) =>
      router.service(TradingDataService, { listAllNetworkHistorySegments: () => listed }),
    );
    const { segments } = await over(createTransport({ url: server.url })).listAllNetworkHistorySegments({});
    expect(segments[0]?.chainId).toBe(text);
    expect(server.sessions[0]?.socket.bytesWritten).toBeLessThan(2000); // Uncompressed, it is 1,049,266 bytes.
    await server.close();
  });

  it("stops at the limit of a message, and names it", async () => {
    const bomb = gzipSync(Buffer.alloc(10 * MIB));
    expect(bomb.length).toBeLessThan(11 * 1024);
    node.answer = { headers: GZIPPED, pieces: [frame(bomb, 1)], ending: OK };
    const client = over(createTransport({ url: node.url, limits: { maxMessageBytes: MIB } }));
    const error = await ownFailure(client.listAllNetworkHistorySegments({}));
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({
      code: Code.ResourceExhausted,
      message: expect.stringContaining(
        `the limit of ${MIB} bytes. If this size is expected, raise limits.maxMessageBytes`,
      ),
    });
  });

  it("takes messages up to the limit, and leaves those without the flag as they are", async () => {
    node.answer = { headers: GZIPPED, pieces: [frame(gzipSync(bytes), 1)], ending: OK };
    const client = over(createTransport({ url: node.url, limits: { maxMessageBytes: bytes.length } }));
    expect((await client.listAllNetworkHistorySegments({})).segments).toHaveLength(1);
    node.answer = { headers: GZIPPED, pieces: [frame(bytes)], ending: OK };
    expect((await client.listAllNetworkHistorySegments({})).segments).toHaveLength(1);
  });

  it("is that of the requests only if it is configured", async () => {
    node.answer = { pieces: [frame(new Uint8Array())], ending: OK };
    await over(createTransport({ url: node.url })).getOrder({ orderId: text });
    await over(createTransport({ url: node.url, compression: "gzip" })).getOrder({ orderId: text });
    const [plain, compressed] = node.calls;
    expect(plain?.headers["grpc-encoding"]).toBeUndefined();
    expect(plain?.body.length).toBeGreaterThan(MIB);
    expect(compressed?.headers["grpc-encoding"]).toBe("gzip");
    expect(compressed?.body[0]).toBe(1);
    expect(compressed?.body.length).toBeLessThan(2000);
    const message = gunzipSync(compressed?.body.subarray(5) ?? "");
    expect(fromBinary(GetOrderRequestSchema, message).orderId).toBe(text);
  });
});

describe("compression over grpc", () => {
  it("is asked for, but not for downloads, whose requests are not compressed either", async () => {
    node.answer = { pieces: [frame(new Uint8Array())], ending: OK };
    const client = over(createGrpcTransport({ url: node.url, compression: "gzip" }));
    await client.listAllNetworkHistorySegments({});
    for await (const _ of client.exportNetworkHistory({}));
    const [call, download] = node.calls;
    expect(call?.headers).toMatchObject({ "grpc-accept-encoding": "gzip", "grpc-encoding": "gzip" });
    expect(download?.headers["grpc-accept-encoding"]).toBeUndefined();
    expect(download?.headers["grpc-encoding"]).toBeUndefined();
    expect(download?.body[0]).toBe(0);
  });

  it("expands no message before it is read, not even those of a stream that was broken off", async () => {
    const part = frame(gzipSync(Buffer.concat([Uint8Array.of(0x12, 0x80, 0x80, 0x40), Buffer.alloc(MIB)])), 1);
    const pieces = Array.from({ length: 200 }, () => part);
    node.answer = { headers: GZIPPED, pieces, ending: "destroy" };
    const client = over(createGrpcTransport({ url: node.url }));
    const messages = client.exportNetworkHistory({})[Symbol.asyncIterator]();
    expect((await messages.next()).value?.data).toHaveLength(MIB);
    const before = usedMemory();
    await node.calls[0]?.closed;
    await failure(client.getOrder({})); // Whether it takes another connection or fails, the client has noticed the end.
    expect(usedMemory() - before).toBeLessThan(20 * MIB);
    let count = 1;
    const rest = (async () => {
      for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
        count += 1;
      }
    })();
    expect(await failure(rest)).toMatchObject({ code: Code.Unavailable });
    expect(count).toBe(200);
  });
});

describe("compression over REST", () => {
  it("stops at the limit of a body, and names it", async () => {
    const body = brotliCompressSync(Buffer.alloc(10 * MIB, " "));
    expect(body.length).toBeLessThan(1024);
    gateway.answer = whole("200 OK", body, { "content-type": "application/json", "content-encoding": "br" });
    const client = over(createRestTransport({ url: gateway.url, limits: { maxJsonBytes: MIB } }));
    expect(await ownFailure(client.listAllNetworkHistorySegments({}))).toMatchObject({
      code: Code.ResourceExhausted,
      message: expect.stringContaining(
        `the limit of ${MIB} bytes. If this size is expected, raise limits.maxJsonBytes`,
      ),
    });
  });
});
