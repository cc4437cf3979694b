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
  ["pagination.first=1&pagination.first=2", "duplicate parameter pagination.first"],
  ["filter.liveOnly=1&filter.live_only=1", "duplicate parameter filter.liveOnly"],
  ["filter.statuses=999", "datanode.api.v2.OrderFilter.statuses must be one of"],
  ["filter.statuses=STATUS_LIVE", '(got "STATUS_LIVE")'],
  ["filter.statuses=1&filter.statuses=-1", "(got -1)"],
])("the gateway refuses ?%s", async (query, message) => {
  expect(await ask(`/api/v2/orders?${query}`)).toEqual({
    status: 400,
    answer: { code: 3, message: expect.stringContaining(message), details: [] },
  });
});

it("the gateway refuses to export a table that has no number", async () => {
  expect(await ask("/api/v2/networkhistory/export?fromBlock=1&toBlock=100&table=99")).toEqual({
    status: 400,
    answer: { code: 3, message: expect.stringMatching(/\.table must be one of .* \(got 99\)$/), details: [] },
  });
});

it.each([
  [{ tx: { version: "TX_VERSION_V9" } }, "vega.commands.v1.Transaction.version must be one of"],
  [{ tx: { version: 99 } }, "vega.commands.v1.Transaction.version must be one of"],
  [{ tx: {}, type: "TYPE_FAST" }, "vega.api.v1.SubmitTransactionRequest.type must be one of"],
  [{ tx: {}, type: 77 }, "vega.api.v1.SubmitTransactionRequest.type must be one of"],
])("the gateway refuses the body %j", async (body, message) => {
  expect(await ask("/transaction", body)).toEqual({
    status: 400,
    answer: { code: 3, message: expect.stringContaining(message), details: [] },
  });
});
