import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, type PaginationRequest, RequestError, type StopOrderFilter } from "tradewire";
import type { StopOrder_Status } from "tradewire/gen/vega/vega_pb.js";
import { failureOf } from "../support/listing-clients.js";
import { serveNode, type TestNode } from "../support/node.js";

let node: TestNode;
let client: Client;
beforeAll(async () => {
  node = await serveNode({});
  client = createClient({ transport: "rest", rest: { url: node.restUrl } });
});
afterAll(async () => {
  expect(node.connections).toEqual({ grpc: 0, rest: 0 }); // Nothing of all this was sent.
  await client.close();
  await node.close();
});

async function refusal(run: () => unknown): Promise<string> {
  const reason = await failureOf(run);
  expect(reason).toBeInstanceOf(RequestError);
  return reason instanceof RequestError ? reason.summary : "";
}

describe("a page that cannot be right is refused before it is sent", () => {
  it.each<[PaginationRequest, string]>([
    [{ first: 1, last: 1 }, "first and last are both given"],
    [{ after: "a", before: "b" }, "after and before are both given"],
    [{ first: 1, before: "b" }, "first and before are both given"],
    [{ last: 1, after: "a" }, "after and last are both given"],
    [{ first: 0 }, "first is 0, which is no size of a page"],
    [{ first: 5001 }, "first is 5001, which is no size of a page"],
    [{ last: -1 }, "last is -1, which is no size of a page"],
    [{ last: 1.5 }, "last is 1.5, which is no size of a page"],
    [{ first: Number.NaN }, "first is NaN, which is no size of a page"],
    [{ after: "" }, 'after is "", which is no cursor'],
    [{ before: "" }, 'before is "", which is no cursor'],
  ])("%j", async (pagination, summary) => {
    expect(await refusal(() => client.listNetworkParameters({ pagination }))).toBe(summary);
    expect(await refusal(() => client.listStopOrders({ pagination }))).toBe(summary);
  });

  it.each([
    [{ pageSize: 0 }, "pageSize is 0, which is no size of a page"],
    [{ pageSize: 5001 }, "pageSize is 5001, which is no size of a page"],
    [{ limit: 0 }, "limit is 0, which is no number of records"],
    [{ limit: 2.5 }, "limit is 2.5, which is no number of records"],
    [{ after: "" }, 'after is "", which is no cursor'],
  ])("at once: %j", (options, summary) => {
    expect(() => client.networkParameters(options)).toThrow(summary);
    expect(() => client.stopOrders(options)).toThrow(summary);
  });
});

it("pages of 1 and of 5,000 records are within the bounds", () => {
  for (const pageSize of [1, 5000]) {
    expect(() => client.networkParameters({ pageSize })).not.toThrow();
    expect(() => client.stopOrders({ pageSize })).not.toThrow();
  }
});

it("deployed nodes are not asked for pages that they refuse", async () => {
  await using deployed = createClient({ profile: "deployed", transport: "rest", rest: { url: node.restUrl } });
  for (const [pagination, field] of [
    [{ last: 1 }, "last"],
    [{ before: "b" }, "before"],
  ] as const) {
    expect(await refusal(() => deployed.listStopOrders({ pagination }))).toBe(
      `pagination.${field} is given, which deployed nodes refuse for ListStopOrders`,
    );
  }
});

describe("a filter that cannot be right is refused before it is sent", () => {
  // What a program without types could ask for.
  const unknown = (value: unknown) => value as StopOrder_Status;
  it.each<[string, StopOrderFilter, string]>([
    [
      "an unknown name",
      { statuses: [unknown("STATUS_NONE")] },
      'statuses[0] is "STATUS_NONE", which is no value of vega.StopOrder.Status',
    ],
    [
      "another enum's name",
      { statuses: [unknown("SUBMIT")] },
      'statuses[0] is "SUBMIT", which is no value of vega.StopOrder.Status',
    ],
    ["a negative number", { statuses: [unknown(-1)] }, "statuses[0] is -1, which is no value of vega.StopOrder.Status"],
    ["half a number", { statuses: [unknown(1.5)] }, "statuses[0] is 1.5, which is no value of vega.StopOrder.Status"],
    ["a text for a list", { partyIds: "abc" }, "partyIds is a text, not a list"],
    ["an empty party", { partyIds: [""] }, 'partyIds holds "", which is no identifier'],
    ["an empty market", { marketIds: [""] }, 'marketIds holds "", which is no identifier'],
    [
      "a range without a width",
      { dateRange: { startTimestamp: 5n, endTimestamp: 5n } },
      "the date range is empty: it starts at 5 and ends at 5",
    ],
    [
      "a range that ends before it starts",
      { dateRange: { startTimestamp: new Date(2), endTimestamp: new Date(1) } },
      "the date range is empty: it starts at 2000000 and ends at 1000000",
    ],
    [
      "a date that is none",
      { dateRange: { startTimestamp: new Date("x") } },
      "dateRange.startTimestamp is Invalid Date, which is no time",
    ],
    [
      "a time of more than 64 bits",
      { dateRange: { endTimestamp: 2n ** 63n } },
      "dateRange.endTimestamp is 9223372036854775808, which is no time",
    ],
  ])("%s", async (_, filter, summary) => {
    expect(await refusal(() => client.listStopOrders({ filter }))).toBe(summary);
    expect(await refusal(() => client.stopOrders({ filter }))).toBe(summary);
  });

  it("tells which names there are", () => {
    expect(() => client.stopOrders({ filter: { expiryStrategies: ["NEVER" as "CANCELS"] } })).toThrow(
      "Choose from: EXPIRY_STRATEGY_UNSPECIFIED, EXPIRY_STRATEGY_CANCELS, EXPIRY_STRATEGY_SUBMIT.",
    );
  });
});

it("nothing is asked for by an empty key or identifier", async () => {
  expect(await refusal(() => client.networkParameter(""))).toBe('key is ""');
  expect(await refusal(() => client.stopOrder(""))).toBe('id is ""');
});
