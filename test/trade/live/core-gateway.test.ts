import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { run } from "../../support/command.js";
import { head, type RawHttpServer, startRawHttp, whole } from "../../support/raw-http.js";

/**
 * The REST of a v0.78.0 core node: it does not have the data node's path, and answers the path of its own event bus with
 * a plain stream instead of a WebSocket.
 */
let core: RawHttpServer;
beforeAll(async () => {
  core = await startRawHttp();
  core.answer = ({ line }) =>
    line.startsWith("GET /stream/event/bus")
      ? { pieces: [head("200 OK", { "transfer-encoding": "chunked" })], ending: "keep" }
      : whole("404 Not Found", '{"code":5,"message":"Not Found","details":[]}', { "content-type": "application/json" });
});
afterAll(() => core.close());

const summary = "the node offers no stream of events: the response does not open a WebSocket: HTTP 200";
const advice =
  "Over REST only a data node streams events, over a WebSocket: use its URL and allow WebSockets in proxies, or use gRPC.";

test.each([true, false])("events over a core node's REST fail at once, with reconnect %s", async (reconnect) => {
  await using client = createClient({ transport: "rest", rest: { url: core.url } });
  const events = client.events({}, { reconnect })[Symbol.asyncIterator]();
  await expect(events.next()).rejects.toMatchObject({ summary, advice });
});

test("tradewire events over a core node's REST fails at once", async () => {
  expect(await run(["events", "--transport", "rest", "--rest-url", core.url])).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringContaining(`${summary}\n${advice}\n`),
  });
});
