import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { type Client, type ClientConfig, createClient, ProtocolError } from "tradewire";
import {
  HistorySegmentSchema,
  ListAllNetworkHistorySegmentsResponseSchema,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { head, startRawHttp } from "../../support/raw-http.js";
import { envelope, serveStreams } from "../../support/servers.js";
import { isFull } from "../../support/tier.js";

/** So many fields of a number, each with an empty value: two bytes each. */
const empty = (field: number, count: number) => Buffer.alloc(count * 2, Buffer.from([(field << 3) | 2, 0]));

/** So many as an answer has at most; the quick tier has a fifth of them, and not below two million. */
const many = (count: number) => (isFull() ? count : Math.max(count / 5, 2_000_000));

/** A field of a number with a value; `wireType` may be another than that of its form. */
const field = (number: number, value: Uint8Array, wireType = WireType.LengthDelimited) =>
  Buffer.concat([new BinaryWriter().tag(number, wireType).uint32(value.length).finish(), value]);

/** The definition of the field says the same: the first field, of two bytes where it is empty. */
test("an empty segment has two bytes", () => {
  const answer = create(ListAllNetworkHistorySegmentsResponseSchema, { segments: [create(HistorySegmentSchema)] });
  expect(Buffer.from(toBinary(ListAllNetworkHistorySegmentsResponseSchema, answer))).toEqual(empty(1, 1));
});

type Call = (client: Client) => Promise<unknown>;
const segments: Call = (client) => client.listSegments();
const governance: Call = (client) => client.service(TradingDataService).getGovernanceData({});
const marketData: Call = (client) => client.service(TradingDataService).listLatestMarketData({});

async function outcome(config: ClientConfig, call: Call): Promise<unknown> {
  await using client = createClient({ ...config, retry: { tries: 1 } });
  return await call(client).catch((reason: unknown) => reason);
}

const refusal = {
  constructor: ProtocolError,
  code: Code.ResourceExhausted,
  summary: expect.stringContaining("more than a million small elements"),
};

describe.each(["grpc", "grpc-js"] as const)("an answer of many small elements, over %s", (transport) => {
  async function answered(call: Call, message: Uint8Array) {
    const server = await serveStreams((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.on("error", () => undefined);
      stream.end(envelope(message));
    });
    try {
      return await outcome({ transport, grpc: { url: server.url } }, call);
    } finally {
      await server.close();
    }
  }

  test.each<[what: string, call: Call, message: () => Uint8Array]>([
    ["of a list", segments, () => empty(1, many(30_000_000))],
    // GetGovernanceDataResponse.data, GovernanceData.yes_party, the entry's value, Vote.els_per_market.
    ["of a value in a map", governance, () => field(1, field(4, field(2, empty(8, many(28_000_000)))))],
    // Each MarketData has 35 fields, and 1.6 kB in memory.
    ["that have many fields, in less than a megabyte", marketData, () => empty(1, 450_000)],
    ["of unknown fields", segments, () => empty(15, many(28_000_000))],
  ])("is refused before it is decoded: %s", async (_, call, message) => {
    const bytes = message();
    const before = process.memoryUsage().heapUsed;
    expect(await answered(call, bytes)).toMatchObject(refusal);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(500_000_000); // Decoded, they have gigabytes.
  });

  // protobuf-es 2.13 reads known fields by their definition alone, and messages beyond the end of those that they are in.
  test.each<[what: string, call: Call, message: () => Uint8Array]>([
    ["a field of another wire type", governance, () => field(1, empty(2, many(10_000_000)), WireType.Varint)],
    ["a group that is none", governance, () => field(1, empty(2, many(10_000_000)), WireType.EndGroup)],
    [
      "a message that is longer than the one around it",
      governance,
      () => Buffer.concat([Buffer.from([0x0a, 5, 0x0a, 0xff, 0xff, 0xff, 7]), empty(2, 8_388_608)]),
    ],
  ])("cannot be hidden in %s", async (_, call, message) => {
    const bytes = message();
    const before = process.memoryUsage().heapUsed;
    expect(await answered(call, bytes)).toMatchObject({
      constructor: ProtocolError,
      code: Code.Internal,
      summary: expect.stringContaining("does not match its definition"),
    });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(500_000_000);
  });

  test("is read where they are not too many", async () => {
    expect(await answered(segments, empty(1, 1000))).toHaveLength(1000);
    expect(await answered(marketData, empty(1, 1000))).toMatchObject({ marketsData: { length: 1000 } });
    const vote = Buffer.concat([field(1, Buffer.from("p")), empty(8, 3)]);
    const entry = Buffer.concat([field(1, Buffer.from("key")), field(2, vote)]);
    expect(await answered(governance, field(1, field(4, entry)))).toMatchObject({
      data: { yesParty: { key: { partyId: "p", elsPerMarket: { length: 3 } } } },
    });
  });
});

describe("an answer of many small elements, over REST", () => {
  async function answered(call: Call, json: string) {
    const body = Buffer.from(json);
    const server = await startRawHttp();
    const headers = { "content-type": "application/json", "content-length": String(body.length) };
    server.answer = { pieces: [head("200 OK", headers), body], ending: "end" };
    try {
      return await outcome({ transport: "rest", rest: { url: server.url } }, call);
    } finally {
      await server.close();
    }
  }

  const list = (element: string, count: number) => `[${`${element},`.repeat(count - 1)}${element}]`;

  test.each<[what: string, call: Call, json: () => string]>([
    ["objects", segments, () => `{"segments":${list("{}", many(4_000_000))}}`],
    ["lists", segments, () => `{"unknown":${list("[]", many(4_000_000))}}`],
    ["numbers", segments, () => `{"segments":[],"unknown":${list("0", many(28_000_000))}}`],
    ["strings", segments, () => `{"segments":[],"unknown":${list('"\\""', many(10_000_000))}}`],
    ["members", segments, () => `{"unknown":{${'"1":1,'.repeat(9_000_000)}"1":1}}`],
    ["that have many fields", marketData, () => `{"marketsData":${list("{}", 450_000)}}`],
    ["that have many fields, in fewer bytes than elements", marketData, () => `{"marketsData":${list("{}", 300_000)}}`],
    ["one too many, in the fewest bytes", segments, () => `{"unknown":${list("0", 1_000_000)}}`],
  ])("is refused: %s", async (_, call, json) => {
    expect(await answered(call, json())).toMatchObject(refusal);
  });

  test("is read where one more would be too many", async () => {
    expect(await answered(segments, `{"unknown":${list("0", 999_998)}}`)).toEqual([]);
  });

  test("is read where they are not too many, also where a text has brackets and commas", async () => {
    const segment = { fromHeight: "1", toHeight: "300", chainId: '[{"\\,'.repeat(1000) };
    const read = await answered(segments, JSON.stringify({ segments: Array.from({ length: 1000 }, () => segment) }));
    expect(read).toHaveLength(1000);
    expect(read).toMatchObject([{ chainId: segment.chainId }, ...Array(999).fill({})]);
  });
});
