import { gzipSync } from "node:zlib";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import { chunk, head, whole } from "../../../support/raw-http.js";
import { CHUNKED, failure, JSON_TYPE, startRestProbe } from "../../../support/rest-probe.js";

const { server, segments, exported, disconnect } = await startRestProbe();

afterEach(async () => {
  await disconnect();
  server.requests.length = 0;
});
afterAll(() => server.close());

describe("failing responses over REST", () => {
  const details = [
    { "@type": "type.googleapis.com/vega.ErrorDetail", code: 10, message: "no segment", inner: "1-7" },
    { "@type": "node.example/other.Thing", a: [1] },
  ];
  const object = { code: 3, message: "bad range", details };

  it.each([
    ["bare", "400 Bad Request", object],
    ["under error", "400 Bad Request", { error: object }],
    ["bare", "500 Internal Server Error", object],
    ["under error", "500 Internal Server Error", { error: object }],
    ["bare, after a text under error", "500 Internal Server Error", { error: "bad range", ...object }],
  ])("become the error object: %s, %s", async (_, status, body) => {
    for (const call of [segments, exported]) {
      const error = await failure(call(whole(status, JSON.stringify(body), JSON_TYPE)));
      expect(error.code).toBe(Code.InvalidArgument);
      expect(error.rawMessage).toBe("bad range");
      expect(error.metadata.get("grpc-status")).toBe("3");
      expect(error.details.map((detail) => ("type" in detail ? detail.type : ""))).toEqual([
        "vega.ErrorDetail",
        "other.Thing",
      ]);
      await disconnect();
    }
  });

  it.each([
    ["bare", object],
    ["under error", { error: object }],
  ])("are errors of calls that do not stream whatever the status says: %s", async (_, body) => {
    const error = await failure(segments(whole("200 OK", JSON.stringify(body), JSON_TYPE)));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.rawMessage).toBe("bad range");
    await disconnect();
  });

  it.each<[string, string, string, Record<string, string>, Code]>([
    [
      'HTTP 404: "<html>gone</html>"',
      "404 Not Found",
      "<html>gone</html>",
      { "content-type": "text/html" },
      Code.Unimplemented,
    ],
    [
      'HTTP 502: "<html>bad</html>"',
      "502 Bad Gateway",
      "<html>bad</html>",
      { "content-type": "text/html" },
      Code.Unavailable,
    ],
    ["HTTP 503", "503 Service Unavailable", "", {}, Code.Unavailable],
    ['HTTP 401: "{}"', "401 Unauthorized", "{}", JSON_TYPE, Code.Unauthenticated],
    ['HTTP 429: "[3]"', "429 Too Many Requests", "[3]", JSON_TYPE, Code.Unavailable],
    [
      'HTTP 302, a redirect to "https://other.example/login", which is not followed',
      "302 Found",
      "",
      { location: "https://other.example/login" },
      Code.Unknown,
    ],
  ])("without an error object become: %s", async (message, status, body, headers, code) => {
    for (const call of [segments, exported]) {
      const error = await failure(call(whole(status, body, headers)));
      expect({ message: error.rawMessage, code: error.code }).toEqual({ message, code });
      await disconnect();
    }
    expect(server.requests).toHaveLength(2); // A redirect leads nowhere, and nothing is tried twice.
  });

  // RFC 9457, section 3; RFC 6749, section 5.2; OpenFGA's errors; the codes of google/rpc/code.proto.
  it.each<[string, JsonObject, string, Code]>([
    ["404 Not Found", { code: "store_id_not_found", message: "no such store" }, "no such store", Code.NotFound],
    ["404 Not Found", { message: "Not here" }, "Not here", Code.NotFound],
    ["404 Not Found", {}, 'HTTP 404: "{}"', Code.NotFound],
    ["400 Bad Request", { error: "no id" }, "no id", Code.InvalidArgument],
    ["400 Bad Request", { error: "bad", error_description: "no id" }, "bad: no id", Code.InvalidArgument],
    [
      "403 Forbidden",
      { type: "https://example.com/p", title: "No credit", status: 403, detail: "It costs 50." },
      "No credit: It costs 50.",
      Code.PermissionDenied,
    ],
    ["409 Conflict", { code: 4711, message: "changed" }, "changed", Code.Aborted],
    ["429 Too Many Requests", { error: { message: "slow down" } }, "slow down", Code.ResourceExhausted],
    ["500 Oops", { error: { message: "x" } }, "x", Code.Unknown],
    ["502 Bad Gateway", { message: "no upstream" }, "no upstream", Code.Unavailable],
  ])("of APIs of other kinds have their message, and the code of %s: %j", async (status, body, message, code) => {
    for (const call of [segments, exported]) {
      const error = await failure(call(whole(status, JSON.stringify(body), JSON_TYPE)));
      expect({ message: error.rawMessage, code: error.code }).toEqual({ message, code });
      await disconnect();
    }
  });

  it("may be compressed", async () => {
    const body = gzipSync(JSON.stringify(object));
    const error = await failure(segments(whole("400 Bad Request", body, { ...JSON_TYPE, "content-encoding": "gzip" })));
    expect(error.rawMessage).toBe("bad range");
  });

  it("are none that switch to another protocol: the connection is closed, and the call ends", async () => {
    const upgrade = head("101 Switching Protocols", { upgrade: "h2c", connection: "upgrade" });
    for (const call of [segments, exported]) {
      const error = await failure(call({ pieces: [upgrade], ending: "keep" }));
      expect(error).toMatchObject({ code: Code.Unavailable, cause: { name: "ConnectionError", connected: true } });
      await disconnect();
    }
  });

  it("are read no further than they can be an error object", async () => {
    const pieces = [head("500 Oops", CHUNKED), ...Array.from({ length: 18 }, () => chunk("x".repeat(64 * 1024)))];
    const error = await failure(segments({ pieces, ending: "keep" }));
    const large = "HTTP 500, with a body of more than 1048576 bytes, which was not read";
    expect(error.rawMessage).toBe(`${large}: "${"x".repeat(200)}"`);
    await server.requests[0]?.closed;
  });

  it("keep their code where the error object is too large to be read, and say so", async () => {
    const message = "x".repeat(1024 * 1024);
    const too = /^HTTP 404, with a body of more than 1048576 bytes, which was not read: "/;
    for (const [body, code] of [
      [{ code: Code.NotFound, message, details: [] }, Code.NotFound],
      [{ error: { code: Code.NotFound, message } }, Code.NotFound],
      [{ code: 99, message }, Code.Unknown],
      [{ message, code: Code.NotFound }, Code.Unimplemented], // That of the status alone.
    ] as const) {
      const error = await failure(segments(whole("404 Not Found", JSON.stringify(body), JSON_TYPE)));
      expect(error.code).toBe(code);
      expect(error.rawMessage).toMatch(too);
      expect(error.rawMessage.length).toBeLessThan(400);
    }
    const filled = JSON.stringify({ code: Code.Aborted, message: "", details: [] }).padEnd(1024 * 1024, " ");
    const error = await failure(segments(whole("404 Not Found", filled, JSON_TYPE)));
    expect(error).toMatchObject({ code: Code.Aborted, rawMessage: "" });
  });
});
