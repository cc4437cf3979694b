import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, type PaginationRequest, RequestError, type StopOrderFilter } from "tradewire";
import type { StopOrder_Status } from "tradewire/gen/vega/vega_pb.js";
import { failureOf } from "../../support/listing-clients.js";
import { serveNode, type TestNode } from "../../support/node.js";

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
    [{ first: 1, last: 1 }, "first and last cannot be combined"],
    [{ after: "a", before: "b" }, "after and before cannot be combined"],
    [{ first: 1, before: "b" }, "first and before cannot be combined"],
    [{ last: 1, after: "a" }, "after and last cannot be combined"],
    [{ first: 0 }, "first must be a whole number from 1 to 5000, the maximum page size of nodes (got 0)"],
    [{ first: 5001 }, "first must be a whole number from 1 to 5000, the maximum page size of nodes (got 5001)"],
    [{ last: -1 }, "last must be a whole number from 1 to 5000, the maximum page size of nodes (got -1)"],
    [{ last: 1.5 }, "last must be a whole number from 1 to 5000, the maximum page size of nodes (got 1.5)"],
    [{ first: Number.NaN }, "first must be a whole number from 1 to 5000, the maximum page size of nodes (got NaN)"],
    [{ after: "" }, 'after must be the cursor of a record (got "")'],
    [{ before: "" }, 'before must be the cursor of a record (got "")'],
  ])("%j", async (pagination, summary) => {
    expect(await refusal(() => client.listNetworkParameters({ pagination }))).toBe(summary);
    expect(await refusal(() => client.listStopOrders({ pagination }))).toBe(summary);
  });

  it.each([
    [{ pageSize: 0 }, "pageSize must be a whole number from 1 to 5000, the maximum page size of nodes (got 0)"],
    [{ pageSize: 5001 }, "pageSize must be a whole number from 1 to 5000, the maximum page size of nodes (got 5001)"],
    [{ limit: 0 }, "limit must be a whole number from 1 (got 0)"],
    [{ limit: 2.5 }, "limit must be a whole number from 1 (got 2.5)"],
    [{ after: "" }, 'after must be the cursor of a record (got "")'],
  ])("at once: %j", (options, summary) => {
    expect(() => client.networkParameters(options)).toThrow(summary);
    expect(() => client.stopOrders({}, options)).toThrow(summary);
  });
});

it("pages of 1 and of 5,000 records are within the bounds", () => {
  for (const pageSize of [1, 5000]) {
    expect(() => client.networkParameters({ pageSize })).not.toThrow();
    expect(() => client.stopOrders({}, { pageSize })).not.toThrow();
  }
});

it("deployed nodes are not asked for pages that they refuse", async () => {
  await using deployed = createClient({ profile: "deployed", transport: "rest", rest: { url: node.restUrl } });
  for (const [pagination, field] of [
    [{ last: 1 }, "last"],
    [{ before: "b" }, "before"],
  ] as const) {
    expect(await refusal(() => deployed.listStopOrders({ pagination }))).toBe(
      `deployed nodes refuse pagination.${field} for ListStopOrders`,
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
      'statuses[0] must be a value of vega.StopOrder.Status (got "STATUS_NONE")',
    ],
    [
      "another enum's name",
      { statuses: [unknown("SUBMIT")] },
      'statuses[0] must be a value of vega.StopOrder.Status (got "SUBMIT")',
    ],
    ["a negative number", { statuses: [unknown(-1)] }, "statuses[0] must be a value of vega.StopOrder.Status (got -1)"],
    ["half a number", { statuses: [unknown(1.5)] }, "statuses[0] must be a value of vega.StopOrder.Status (got 1.5)"],
    ["a text for a list", { partyIds: "abc" }, 'partyIds must be an array, such as ["abc"] (got "abc")'],
    ["an empty party", { partyIds: [""] }, 'partyIds contains the invalid ID ""'],
    ["an empty market", { marketIds: [""] }, 'marketIds contains the invalid ID ""'],
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
      'dateRange.startTimestamp must be a Date, or Unix nanoseconds as a bigint of 64 bits (got "Invalid Date")',
    ],
    [
      "a time of more than 64 bits",
      { dateRange: { endTimestamp: 2n ** 63n } },
      "dateRange.endTimestamp must be a Date, or Unix nanoseconds as a bigint of 64 bits (got 9223372036854775808)",
    ],
  ])("%s", async (_, filter, summary) => {
    expect(await refusal(() => client.listStopOrders({ filter }))).toBe(summary);
  });

  it("tells which names there are", () => {
    expect(() => client.stopOrders({ expiryStrategies: ["NEVER" as "CANCELS"] })).toThrow(
      "Valid values: UNSPECIFIED, CANCELS, SUBMIT.",
    );
  });
});

it("nothing is asked for by an empty key or identifier", async () => {
  expect(await refusal(() => client.networkParameter(""))).toBe('key must be a non-empty string (got "")');
  expect(await refusal(() => client.stopOrder(""))).toBe('id must be a non-empty string (got "")');
});
