import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
});
afterAll(() => node.close());

/** The headers of an answer that say what pages may do. */
async function answered(method: string, headers: Record<string, string>, path = "/api/v2/networkhistory/segments") {
  const answer = await fetch(`${node.restUrl}${path}`, { method, headers });
  await answer.arrayBuffer();
  const names = [...answer.headers].filter(([name]) => name.startsWith("access-control-") || name === "vary");
  return { status: answer.status, ...Object.fromEntries(names) };
}

const ORIGIN = { origin: "https://console.example" };
const VARY = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers";

// libs/http/cors.go, core/api/config.go and datanode/gateway/config.go of v0.78.0, with cors.go of github.com/rs/cors 1.8.3.
describe("a preflight request", () => {
  it("is allowed from any origin, with the headers that it names", async () => {
    const asked = {
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type, x-my_key",
    };
    expect(await answered("OPTIONS", { ...ORIGIN, ...asked })).toEqual({
      status: 204,
      "access-control-allow-origin": "https://console.example",
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "Content-Type, X-My_Key",
      "access-control-max-age": "7200",
      vary: VARY,
    });
  });

  it("is answered for a path that the gateway does not have, as it never comes there", async () => {
    expect(await answered("OPTIONS", { ...ORIGIN, "access-control-request-method": "GET" }, "/nothing")).toEqual({
      status: 204,
      "access-control-allow-origin": "https://console.example",
      "access-control-allow-methods": "GET",
      "access-control-max-age": "7200",
      vary: VARY,
    });
  });

  it("allows nothing for a method that is not allowed, or without an origin", async () => {
    const nothing = { status: 204, vary: VARY };
    expect(await answered("OPTIONS", { ...ORIGIN, "access-control-request-method": "TRACE" })).toEqual(nothing);
    expect(await answered("OPTIONS", { "access-control-request-method": "GET" })).toEqual(nothing);
  });
});

describe("another request", () => {
  it("with an origin gives its page the answer, an error too", async () => {
    const shared = { "access-control-allow-origin": "https://console.example", "access-control-expose-headers": "*" };
    expect(await answered("GET", ORIGIN)).toEqual({ status: 200, ...shared, vary: "Origin, accept-encoding" });
    expect(await answered("GET", ORIGIN, "/nothing")).toEqual({
      status: 404,
      ...shared,
      vary: "Origin, accept-encoding",
    });
  });

  it("without an origin is answered as ever", async () => {
    expect(await answered("GET", {})).toEqual({ status: 200, vary: "Origin, accept-encoding" });
  });

  it("with OPTIONS alone goes to the gateway", async () => {
    expect((await answered("OPTIONS", ORIGIN)).status).toBe(501);
  });
});
