import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Client, createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";

const small = { segments: 4, blocksPerSegment: 10, blockMs: 0 } as const;

let node: Devnode;
let client: Client;
beforeAll(async () => {
  node = await startDevnode({ ...small, admin: true, adminNames: ["node.example"] });
  client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
});
afterAll(async () => {
  await client.close();
  await node.close();
});
beforeEach(() => node.reset());

async function post(command: string, body: string, type = "application/json", { restUrl } = node) {
  const headers = { "content-type": type };
  const answer = await fetch(`${restUrl}/admin/${command}`, { method: "POST", headers, body });
  return { status: answer.status, body: (await answer.json()) as unknown };
}

const height = async () => (await client.lastBlockHeight()).height;

it("the commands of the gateway do what the functions do", async () => {
  expect(await post("make-block", "{}")).toEqual({ status: 200, body: { height: "41" } });
  const kept = await post("snapshot", "");
  expect(kept).toEqual({ status: 200, body: { id: expect.stringMatching(/^\d+$/) } });
  await node.makeBlock();
  expect(await post("revert", JSON.stringify(kept.body))).toEqual({ status: 200, body: {} });
  expect(await height()).toBe(41n);
  expect(await post("set-time", '{"time":"2040-01-01"}')).toEqual({ status: 200, body: {} });
  await node.makeBlock();
  const { timestamp } = await client.service(CoreService).getVegaTime({});
  expect(new Date(Number(timestamp / 1_000_000n)).getUTCFullYear()).toBe(2040);
  const failure = { method: "LastBlockHeight", with: "NOT_FOUND" };
  expect(await post("fail-next", JSON.stringify(failure))).toEqual({ status: 200, body: {} });
  await expect(height()).rejects.toThrow("NOT_FOUND");
  expect(await post("reset", "{}")).toEqual({ status: 200, body: {} });
  expect(await height()).toBe(40n);
});

it.each([
  ["revert", '{"id":7}', "id must be the ID that snapshot returned (got 7)"],
  ["revert", "{}", "id is missing: it must be the ID that snapshot returned"],
  ["revert", '{"id":"9"}', 'unknown snapshot "9"\n'],
  ["revert", '{"ID":"9"}', "id is missing: it must be the ID"],
  ["revert", '{"id":"9","to":1}', 'unknown field "to" in /admin/revert'],
  ["revert", "[]", "the body must be a JSON object\nUse {} for a command without arguments."],
  ["revert", "null", "the body must be a JSON object\n"],
  ["revert", "{", "[invalid_argument] the body is not valid JSON"],
  ["revert", '{"id":"9","id":"1"}', 'the body: the name "id" occurs twice in one object'],
  ["make-block", '{"count":3}', 'unknown field "count" in /admin/make-block\nThere are no fields.'],
  ["snapshot", '{"id":"1"}', 'unknown field "id" in /admin/snapshot'],
  ["reset", '{"__proto__":1}', 'unknown field "__proto__" in /admin/reset'],
  ["set-time", "{}", "time is missing: it must be a time"],
  ["set-time", '{"time":1000}', "time must be a time in ISO 8601, such as 2024-01-31T12:30:00Z (got 1000)"],
  ["set-time", '{"time":"2031-02-30"}', 'invalid time "2031-02-30"\n'],
  ["set-time", '{"time":"2001-01-01"}', "the time 2001-01-01T00:00:00.000Z is not after"],
  ["fail-next", "{}", "method is missing: it must be the name"],
  ["fail-next", '{"method":"Info"}', "with is missing: it must be cut"],
  [
    "fail-next",
    '{"method":"Info","with":"cut","tims":2}',
    'unknown field "tims" in /admin/fail-next\nDid you mean times?',
  ],
  ["fail-next", '{"method":"Info","with":"cut","times":null}', "times must be a whole number of at least 1 (got null)"],
  [
    "fail-next",
    '{"method":"Info","with":13,"afterBytes":1}',
    "Info is not an export, so afterBytes with an error code",
  ],
])("%s %s is a bad request", async (command, body, message) => {
  const { status, body: answer } = await post(command, body);
  expect(status).toBe(400);
  expect(answer).toMatchObject({ message: expect.any(String) });
  expect((answer as { message: string }).message.slice(0, message.length)).toBe(message);
});

it("whatever JSON is posted, no command fails on the node's side", async () => {
  const name = fc.constantFrom("set-time", "revert", "fail-next");
  const key = fc.constantFrom("time", "id", "method", "with", "times", "afterBytes", "other");
  await fc.assert(
    fc.asyncProperty(name, fc.oneof(fc.dictionary(key, fc.jsonValue()), fc.jsonValue()), async (command, body) => {
      expect(await post(command, JSON.stringify(body))).toMatchObject({
        status: 400,
        body: { message: expect.stringMatching(/^[^\n]+(\n[^\n]+)?$/) },
      });
    }),
  );
});

it("other commands, media types and verbs are refused by their status", async () => {
  expect(await post("make-blocks", "{}")).toMatchObject({ status: 404 });
  expect(await post("toString", "{}")).toMatchObject({ status: 404 });
  // What a page in a browser may send without asking.
  expect(await post("reset", "{}", "text/plain")).toMatchObject({ status: 415 });
  expect((await fetch(`${node.restUrl}/admin/reset`)).status).toBe(405);
});

describe("a command", () => {
  /** Post a command for a host, as a page whose name leads to this machine does. */
  async function statusFor(host: string, headers = {}, method = "POST"): Promise<IncomingMessage> {
    const type = { "content-type": "application/json" };
    const asked = request(`${node.restUrl}/admin/make-block`, { method, headers: { ...type, host, ...headers } }).end(
      "{}",
    );
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    return answer.resume();
  }

  // The names that the status page of a sync answers to, too.
  it.each([
    ["localhost:3008", 200],
    ["127.0.0.1", 200],
    ["[::1]:3008", 200],
    ["NODE.example:3008", 200],
    ["evil.example", 421],
    ["127.0.0.1.evil.example:3008", 421],
    ["192.0.2.1", 421],
    ["node.example@evil.example", 421],
  ])("for the host %s is %i", async (host, status) => {
    const before = await height();
    expect((await statusFor(host)).statusCode).toBe(status);
    expect(await height()).toBe(status === 200 ? before + 1n : before);
  });

  it("is for no page of another origin", async () => {
    const asking = { origin: "http://evil.example", "access-control-request-method": "POST" };
    const preflight = await statusFor("localhost", asking, "OPTIONS");
    expect(preflight.statusCode).toBe(405);
    expect(preflight.headers).not.toHaveProperty("access-control-allow-origin");
    expect((await statusFor("localhost", asking)).headers).not.toHaveProperty("access-control-allow-origin");
  });
});

it("the commands are not there unless they are asked for", async () => {
  await using plain = await startDevnode(small);
  expect((await post("reset", "{}", "application/json", plain)).status).toBe(404);
});
