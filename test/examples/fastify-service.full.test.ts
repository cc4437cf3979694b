import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import type { Running } from "../support/command-process.js";
import { type Example, installExample } from "../support/example.js";

let node: Devnode;
let example: Example;
let running: Running;
let url: string;

beforeAll(async () => {
  node = await startDevnode({ blockMs: 200, segments: 4, blocksPerSegment: 10 });
  example = await installExample("fastify-service");
  running = example.run([], { TRADEWIRE_GRPC_URL: node.grpcUrl, TRADEWIRE_RETRY_TRIES: "1", PORT: "0" });
  url = /http:\/\/127\.0\.0\.1:\d+/.exec(await running.firstLine)?.[0] ?? "";
});

afterAll(async () => {
  running.child.kill();
  await running.ended;
  await node.close();
  await example[Symbol.asyncDispose]();
});

const get = async (path: string) => {
  const response = await fetch(`${url}${path}`);
  const text = await response.text();
  return { status: response.status, text };
};

it("streams the rows of an export", async () => {
  const { status, text } = await get("/trades?fromBlock=1&toBlock=40");
  expect(status).toBe(200);
  const rows = text
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(rows.length).toBeGreaterThan(10);
  expect(rows[0]).toMatchObject({ price: expect.stringMatching(/^\d+$/), market_id: expect.anything() });
});

it("cuts its answer where the export is cut", async () => {
  node.failNext({ method: "ExportNetworkHistory", with: "error-after-archive" });
  await expect(get("/trades?fromBlock=1&toBlock=40")).rejects.toThrow();
});

it.each([
  ["/trades?fromBlock=2&toBlock=40", 400, "the nearest valid range is 1 to 40"],
  ["/trades?fromBlock=x&toBlock=40", 400, "fromBlock"],
  ["/parties/nobody/stop-orders", 404, "nobody"],
])("says what is wrong with %s", async (path, expected, word) => {
  const { status, text } = await get(path);
  expect(status).toBe(expected);
  expect(text).toContain(word);
});

it("lists a party's stop orders", async () => {
  const { status, text } = await get(`/parties/${node.keys[0]}/stop-orders`);
  expect({ status, text }).toEqual({ status: 200, text: "[]" });
});

it("says whether it is ready", async () => {
  expect(await get("/live")).toEqual({ status: 200, text: '{"status":"live"}' });
  expect(JSON.parse((await get("/ready")).text)).toMatchObject({ status: "ready", lagMs: expect.any(Number) });
  node.failNext({ method: "vega.api.v1.CoreService/GetVegaTime", with: "UNAVAILABLE" });
  const { status, text } = await get("/ready");
  expect(status).toBe(503);
  expect(JSON.parse(text)).toMatchObject({ error: expect.stringContaining("UNAVAILABLE"), advice: expect.any(String) });
});

it("answers what it has begun before it stops", async () => {
  const begun = await fetch(`${url}/trades?fromBlock=1&toBlock=40`);
  running.child.kill("SIGTERM");
  expect((await begun.text()).endsWith("\n")).toBe(true);
  expect((await running.ended).code).toBe(0);
});
