import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 100, blockMs: 0 });
});
afterAll(() => node.close());

async function ask(path: string, body?: object): Promise<{ status: number; answer: Record<string, unknown> }> {
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`${node.restUrl}${path}`, body === undefined ? {} : post);
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
}

/** The statuses of the orders in an answer. */
async function statuses(query: string): Promise<unknown[]> {
  const { status, answer } = await ask(`/api/v2/orders?${query}`);
  expect(status).toBe(200);
  const { edges } = answer["orders"] as { edges: { node: { status: unknown } }[] };
  return [...new Set(edges.map((edge) => edge.node.status))];
}

it.each(["1", "t", "T", "true", "TRUE", "True"])("the gateway takes %s for true", async (text) => {
  expect(await statuses(`filter.liveOnly=${text}`)).toEqual(["STATUS_ACTIVE"]);
});

it.each(["0", "f", "F", "false", "FALSE", "False"])("the gateway takes %s for false", async (text) => {
  expect((await statuses(`filter.liveOnly=${text}`)).length).toBeGreaterThan(1);
});

it("the gateway takes lists by repeated names, and enums by name and by number", async () => {
  expect(await statuses("filter.statuses=1&filter.statuses=STATUS_ACTIVE")).toEqual(["STATUS_ACTIVE"]);
});

it.each([
  ["filter.liveOnly=yes", "expected boolean"],
  ["pagination.first=1&pagination.first=2", "pagination.first is given twice"],
  ["filter.liveOnly=1&filter.live_only=1", "filter.liveOnly is given twice"],
  ["filter.statuses=999", '"999" is no value of datanode.api.v2.OrderFilter.statuses'],
  ["filter.statuses=STATUS_LIVE", '"STATUS_LIVE" is no value of'],
  ["filter.statuses=1&filter.statuses=-1", '"-1" is no value of'],
])("the gateway refuses ?%s", async (query, message) => {
  expect(await ask(`/api/v2/orders?${query}`)).toEqual({
    status: 400,
    answer: { code: 3, message: expect.stringContaining(message), details: [] },
  });
});

it("the gateway refuses to export a table that has no number", async () => {
  expect(await ask("/api/v2/networkhistory/export?fromBlock=1&toBlock=100&table=99")).toEqual({
    status: 400,
    answer: { code: 3, message: expect.stringMatching(/^"99" is no value of .*\.table$/), details: [] },
  });
});

it.each([
  [{ tx: { version: "TX_VERSION_V9" } }, '"TX_VERSION_V9" is no value of vega.commands.v1.Transaction.version'],
  [{ tx: { version: 99 } }, '"99" is no value of vega.commands.v1.Transaction.version'],
  [{ tx: {}, type: "TYPE_FAST" }, '"TYPE_FAST" is no value of vega.api.v1.SubmitTransactionRequest.type'],
  [{ tx: {}, type: 77 }, '"77" is no value of vega.api.v1.SubmitTransactionRequest.type'],
])("the gateway refuses the body %j", async (body, message) => {
  expect(await ask("/transaction", body)).toEqual({ status: 400, answer: { code: 3, message, details: [] } });
});
