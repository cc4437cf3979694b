import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createClient, enumName } from "tradewire";
import { ListStopOrdersResponseSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { SideSchema, StopOrder_StatusSchema, StopOrderSchema } from "tradewire/gen/vega/vega_pb.js";
import { frame, type GrpcServer, startGrpcServer } from "../../support/grpc-server.js";
import { collect } from "../../support/listing-clients.js";
import { type RawHttpServer, startRawHttp } from "../../support/raw-http.js";

let grpc: GrpcServer;
let http: RawHttpServer;
beforeEach(async () => {
  [grpc, http] = await Promise.all([startGrpcServer(), startRawHttp()]);
});
afterEach(async () => {
  await Promise.all([grpc.close(), http.close()]);
});

/** A page of a node that knows a status, a side, a trigger and fields which the definitions do not have. */
const json = JSON.stringify({
  orders: {
    edges: [
      {
        cursor: "c1",
        node: {
          stopOrder: { id: "1", status: "STATUS_FROZEN", lastPrice: "5", freezer: { reason: "cold" } },
          submission: { side: "SIDE_BOTH", size: "3" },
          origin: "ORIGIN_API",
        },
      },
      { cursor: "c2", node: { stopOrder: { id: "2", status: "STATUS_PENDING" } } },
    ],
    pageInfo: { endCursor: "c2", total: 2 },
  },
  took: "1ms",
});

describe.each(["grpc with JSON", "rest"] as const)("what only a newer node knows, over %s", (way) => {
  it("breaks no page, and enum values keep their names", async () => {
    grpc.answer = {
      headers: { "content-type": "application/grpc+json" },
      pieces: [frame(Buffer.from(json))],
      ending: { "grpc-status": "0" },
    };
    http.answer = {
      pieces: [`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`],
      ending: "end",
    };
    await using client =
      way === "rest"
        ? createClient({ transport: "rest", rest: { url: http.url } })
        : createClient({ transport: "grpc", grpc: { url: grpc.url, codec: "json" } });
    const records = await collect(client.stopOrders());
    expect(records.map(({ stopOrder }) => enumName(StopOrder_StatusSchema, stopOrder.status))).toEqual([
      "STATUS_FROZEN",
      "STATUS_PENDING",
    ]);
    expect(enumName(SideSchema, records[0]?.submission?.side ?? 0)).toBe("SIDE_BOTH");
    expect(records[0]?.submission?.size).toBe(3n);
  });
});

describe.each(["grpc", "grpc-js"] as const)("what only a newer node knows, over %s", (transport) => {
  it("breaks no page: enum values keep their numbers, and fields their bytes", async () => {
    // What a newer node's definitions would make of it: numbers that ours do not have.
    const number = (value: number) => value;
    const stopOrder = create(StopOrderSchema, { id: "1", status: number(77) });
    const data = new BinaryWriter().string("cold").finish();
    stopOrder.$unknown = [{ no: 200, wireType: WireType.LengthDelimited, data }];
    const message = create(ListStopOrdersResponseSchema, {
      orders: {
        edges: [{ cursor: "c1", node: { stopOrder, submission: { side: number(9) } } }],
        pageInfo: { endCursor: "c1" },
      },
    });
    grpc.answer = {
      pieces: [frame(toBinary(ListStopOrdersResponseSchema, message))],
      ending: { "grpc-status": "0" },
    };
    await using client = createClient({ transport, grpc: { url: grpc.url } });
    const [record] = await collect(client.stopOrders());
    expect(record?.stopOrder.status).toBe(77);
    expect(enumName(StopOrder_StatusSchema, record?.stopOrder.status ?? 0)).toBe("77");
    expect(record?.submission?.side).toBe(9);
    const unknown = record?.stopOrder.$unknown?.map((field) => [field.no, new BinaryReader(field.data).string()]);
    expect(unknown).toEqual([[200, "cold"]]);
  });
});
