import { get } from "node:http";
import { json } from "node:stream/consumers";
import type { DescEnum } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, type StopOrderRecord } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import {
  Order_TimeInForceSchema,
  Order_TypeSchema,
  PeggedReferenceSchema,
  SideSchema,
  StopOrder_ExpiryStrategySchema,
  StopOrder_RejectionReasonSchema,
  StopOrder_SizeOverrideSettingSchema,
  StopOrder_Status,
  StopOrder_StatusSchema,
  StopOrder_TriggerDirectionSchema,
} from "tradewire/gen/vega/vega_pb.js";

let node: Devnode;
let records: StopOrderRecord[];
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10 });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  records = [];
  for await (const { node: record } of client.records(TradingDataService.method.listStopOrders)) {
    if (record.stopOrder !== undefined) {
      records.push({ ...record, stopOrder: record.stopOrder });
    }
  }
});
afterAll(() => node.close());

describe("the stop orders of the local node", () => {
  it.each<[string, DescEnum, (record: StopOrderRecord) => number | undefined]>([
    ["status", StopOrder_StatusSchema, ({ stopOrder }) => stopOrder.status],
    ["expiryStrategy", StopOrder_ExpiryStrategySchema, ({ stopOrder }) => stopOrder.expiryStrategy],
    ["triggerDirection", StopOrder_TriggerDirectionSchema, ({ stopOrder }) => stopOrder.triggerDirection],
    ["rejectionReason", StopOrder_RejectionReasonSchema, ({ stopOrder }) => stopOrder.rejectionReason],
    ["sizeOverrideSetting", StopOrder_SizeOverrideSettingSchema, ({ stopOrder }) => stopOrder.sizeOverrideSetting],
    ["side", SideSchema, ({ submission }) => submission?.side],
    ["timeInForce", Order_TimeInForceSchema, ({ submission }) => submission?.timeInForce],
    ["type", Order_TypeSchema, ({ submission }) => submission?.type],
    ["peggedOrder.reference", PeggedReferenceSchema, ({ submission }) => submission?.peggedOrder?.reference],
  ])("have every value of %s but the one that is never valid", (_, schema, read) => {
    const found = new Set(records.map(read).filter((value) => value !== undefined));
    expect([...found].toSorted((a, b) => a - b)).toEqual(schema.values.map(({ number }) => number).slice(1));
  });

  it("are of many parties and markets", () => {
    expect(new Set(records.map(({ stopOrder }) => stopOrder.partyId)).size).toBe(97);
    expect(new Set(records.map(({ stopOrder }) => stopOrder.marketId)).size).toBe(12);
  });

  it("come in pairs in which one cancels the other", () => {
    const byId = new Map(records.map((record) => [record.stopOrder.id, record.stopOrder]));
    const linked = records.filter(({ stopOrder }) => stopOrder.ocoLinkId !== undefined);
    expect(linked).toHaveLength(2000);
    for (const { stopOrder } of linked) {
      const other = byId.get(stopOrder.ocoLinkId ?? "");
      expect(other).toMatchObject({
        ocoLinkId: stopOrder.id,
        partyId: stopOrder.partyId,
        marketId: stopOrder.marketId,
        createdAt: stopOrder.createdAt,
      });
      expect(other?.triggerDirection).not.toBe(stopOrder.triggerDirection);
      if (stopOrder.status === StopOrder_Status.TRIGGERED) {
        expect(other?.status).toBe(StopOrder_Status.STOPPED);
      }
    }
  });

  it("have the members that go together", () => {
    const tried = records.filter((_, index) => index % 7 === 0); // Seven is no period of their kinds.
    for (const { stopOrder, submission } of tried) {
      expect(stopOrder.expiryStrategy === undefined).toBe(stopOrder.expiresAt === undefined);
      expect(stopOrder.rejectionReason === undefined).toBe(stopOrder.status !== StopOrder_Status.REJECTED);
      expect(stopOrder.orderId).toBe(stopOrder.status === StopOrder_Status.TRIGGERED ? stopOrder.id : "");
      expect(stopOrder.updatedAt === undefined).toBe(stopOrder.status === StopOrder_Status.PENDING);
      expect(stopOrder.trigger.value).toMatch(stopOrder.trigger.case === "price" ? /^\d+$/ : /^0\.\d{3}$/);
      expect(stopOrder.sizeOverrideValue === undefined).toBe(stopOrder.sizeOverrideSetting === 1);
      expect(submission?.marketId).toBe(stopOrder.marketId);
      expect(submission?.expiresAt === 0n).toBe(submission?.timeInForce !== 2);
    }
    expect(tried.filter(({ submission }) => submission?.icebergOpts !== undefined).length).toBeGreaterThan(10);
  });
});

async function ask(path: string): Promise<{ status: number | undefined; body: unknown }> {
  return new Promise((resolve, reject) => {
    get(`${node.restUrl}${path}`, { agent: false }, (response) => {
      json(response).then((body) => resolve({ status: response.statusCode, body }), reject);
    }).on("error", reject);
  });
}

const pageInfo = {
  startCursor: expect.any(String),
  endCursor: expect.any(String),
  hasNextPage: expect.any(Boolean),
  hasPreviousPage: expect.any(Boolean),
};

describe("the query strings of the specification", () => {
  it("page through network parameters", async () => {
    const first = await ask("/api/v2/network/parameters?pagination.first=2&pagination.newestFirst=false");
    expect(first).toEqual({
      status: 200,
      body: {
        networkParameters: {
          edges: [
            { cursor: expect.any(String), node: { key: "blockchains.ethereumConfig", value: expect.any(String) } },
            {
              cursor: expect.any(String),
              node: { key: "governance.proposal.VolumeDiscountProgram.maxClose", value: expect.any(String) },
            },
          ],
          pageInfo: { ...pageInfo, hasNextPage: true, hasPreviousPage: false },
        },
      },
    });
    const { endCursor } = Object(first.body).networkParameters.pageInfo;
    const after = encodeURIComponent(endCursor);
    const next = await ask(
      `/api/v2/network/parameters?pagination.first=1&pagination.after=${after}&pagination.newestFirst=false`,
    );
    expect(next.body).toMatchObject({
      networkParameters: {
        edges: [{ node: { key: "governance.proposal.VolumeDiscountProgram.maxEnact" } }],
        pageInfo: { hasPreviousPage: true },
      },
    });
    const before = await ask(
      `/api/v2/network/parameters?pagination.last=1&pagination.before=${after}&pagination.newestFirst=false`,
    );
    expect(before.body).toMatchObject({
      networkParameters: { edges: [{ node: { key: "blockchains.ethereumConfig" } }], pageInfo: { hasNextPage: true } },
    });
  });

  it("filter stop orders", async () => {
    const wanted = records.find(
      ({ stopOrder }) => stopOrder.status === 4 && stopOrder.expiryStrategy === 1 && stopOrder.ocoLinkId,
    );
    const { partyId = "", marketId = "", updatedAt = 0n, id = "" } = wanted?.stopOrder ?? {};
    const query = [
      "pagination.first=5",
      "filter.statuses=STATUS_TRIGGERED",
      "filter.statuses=STATUS_EXPIRED",
      "filter.expiryStrategies=EXPIRY_STRATEGY_CANCELS",
      `filter.dateRange.startTimestamp=${updatedAt}`,
      `filter.dateRange.endTimestamp=${updatedAt + 1n}`,
      `filter.partyIds=${partyId}`,
      `filter.partyIds=${"0".repeat(64)}`,
      `filter.marketIds=${marketId}`,
      "filter.liveOnly=false",
    ];
    const { status, body } = await ask(`/api/v2/stoporders?${query.join("&")}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ orders: { pageInfo } });
    const [edge, ...others] = Object(body).orders.edges;
    expect(others).toEqual([]);
    // Every field of the specification's 2.4 that is set, with 64-bit numbers as text and enum values by name.
    expect(edge).toMatchObject({
      cursor: expect.any(String),
      node: {
        stopOrder: {
          id,
          ocoLinkId: expect.stringMatching(/^[0-9a-f]{64}$/),
          expiresAt: expect.stringMatching(/^\d{19}$/),
          expiryStrategy: "EXPIRY_STRATEGY_CANCELS",
          triggerDirection: expect.stringMatching(/^TRIGGER_DIRECTION_/),
          status: "STATUS_TRIGGERED",
          createdAt: expect.stringMatching(/^\d{19}$/),
          updatedAt: String(updatedAt),
          partyId,
          marketId,
          orderId: id,
          sizeOverrideSetting: expect.stringMatching(/^SIZE_OVERRIDE_SETTING_/),
        },
        submission: {
          marketId,
          price: expect.any(String),
          size: expect.stringMatching(/^\d+$/),
          side: expect.stringMatching(/^SIDE_/),
          timeInForce: expect.stringMatching(/^TIME_IN_FORCE_/),
          type: expect.stringMatching(/^TYPE_/),
          expiresAt: expect.stringMatching(/^\d+$/),
          postOnly: expect.any(Boolean),
          reduceOnly: expect.any(Boolean),
          reference: expect.any(String),
        },
      },
    });
    const live = await ask("/api/v2/stoporders?filter.liveOnly=true&pagination.first=5");
    expect(Object(live.body).orders.edges.map((each: { node: unknown }) => each.node)).toMatchObject(
      Array(5).fill({ stopOrder: { status: "STATUS_PENDING" } }),
    );
  });

  const badBase64 = "failed to decode cursor: illegal base64 data at input byte 0";

  it.each([
    ["pagination.first=0", "pagination limit must be in range 0-5000"],
    ["pagination.last=5001", "pagination limit must be in range 0-5000"],
    ["pagination.after=YQ==&pagination.before=YQ==", "cannot set both a before and after cursor"],
    ["pagination.after=%21", `failed to decode after cursor: ${badBase64}`],
    ["pagination.after=", "failed to decode after cursor: cursor is empty"],
  ])("are refused with an error object: ?%s", async (query, inner) => {
    for (const path of ["/api/v2/network/parameters", "/api/v2/stoporders"]) {
      expect(await ask(`${path}?${query}`)).toEqual({
        status: 400,
        body: {
          code: 3,
          message: "InvalidArgument error",
          details: [
            { "@type": "type.googleapis.com/vega.ErrorDetail", code: 10_028, message: "invalid pagination", inner },
          ],
        },
      });
    }
  });

  it.each([
    ["filter.partyIds=x", 400, "invalid party id", "one or more party id is invalid"],
    ["pagination.last=3", 400, "'last' pagination is not supported", "'last' pagination is not supported"],
    ["pagination.newestFirst=false", 500, "oldest first order query is not currently supported", ""],
  ])("are refused for stop orders: ?%s", async (query, httpStatus, message, inner) => {
    const { status, body } = await ask(`/api/v2/stoporders?${query}`);
    expect(status).toBe(httpStatus);
    expect(body).toMatchObject({ details: [{ code: 10_000, message, inner }] });
  });

  it.each([
    [
      "filter.statuses=STATUS_NONE",
      'datanode.api.v2.StopOrderFilter.statuses must be one of STATUS_UNSPECIFIED, STATUS_PENDING, STATUS_CANCELLED, STATUS_STOPPED, STATUS_TRIGGERED, STATUS_EXPIRED, STATUS_REJECTED (got "STATUS_NONE")',
    ],
    ["filter.dateRange.startTimestamp=now", "datanode.api.v2.DateRange.start_timestamp"],
  ])("are not read where they are malformed: ?%s", async (query, reason) => {
    const { status, body } = await ask(`/api/v2/stoporders?${query}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 3, message: expect.stringContaining(reason) });
  });

  it("get one record", async () => {
    const id = records[77]?.stopOrder.id;
    expect(await ask(`/api/v2/stoporder/${id}`)).toMatchObject({ status: 200, body: { order: { stopOrder: { id } } } });
    expect(await ask("/api/v2/network/parameters/spam.pow.difficulty")).toEqual({
      status: 200,
      body: { networkParameter: { key: "spam.pow.difficulty", value: "15" } },
    });
    expect(await ask("/api/v2/network/parameters/%00")).toMatchObject({ status: 404, body: { code: 5 } });
  });
});
