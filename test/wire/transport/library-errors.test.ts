import { runInNewContext } from "node:vm";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { ConnectionError, NodeError, RequestError, type TradewireError } from "tradewire";
import { type Endpoint, withOurErrors } from "tradewire/transport";
import { ask, broken, listen, memoryTransport, reasonOf, texts } from "../../support/memory-transport.js";
import { say } from "../../support/probe.js";

const kinds = [
  ["unary", ask, "test.Probe/Read"],
  ["stream", listen, "test.Probe/Watch"],
] as const;

const endpoint: Endpoint = { name: "grpc", url: "http://127.0.0.1:3007" };
const here = () => texts("here");
const lost = () => Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", syscall: "read" });

function ours(play: Parameters<typeof memoryTransport>[0] = here, settings: Partial<Endpoint> = {}) {
  const inner = memoryTransport(play);
  return { transport: withOurErrors(inner, { ...endpoint, ...settings }), inner };
}

/** The error of Connect that a call fails with, and the library's in it. */
async function failureOf(promise: Promise<unknown>): Promise<{ error: ConnectError; cause: TradewireError }> {
  const error = await reasonOf(promise);
  expect(error).toBeInstanceOf(ConnectError);
  return { error: error as ConnectError, cause: (error as ConnectError).cause as TradewireError };
}

describe.each(kinds)("the failure of a call (%s)", (_, make, method) => {
  it("is one of Connect's, caused by the library's, which names the call", async () => {
    const reason = lost();
    const { error, cause } = await failureOf(make(ours(() => Promise.reject(reason)).transport));
    expect(error).toMatchObject({
      code: Code.Unavailable,
      rawMessage: "the connection was lost (http://127.0.0.1:3007)",
    });
    expect(cause).toBeInstanceOf(ConnectionError);
    expect(cause).toMatchObject({
      summary: "the connection was lost (http://127.0.0.1:3007)",
      connected: true,
      transport: "grpc",
      method,
      cause: reason,
    });
  });

  it("is told as well of an error of another realm, as a test environment has one", async () => {
    const error: unknown = runInNewContext(
      'Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", syscall: "read" })',
    );
    const { cause } = await failureOf(make(ours(() => Promise.reject(error)).transport));
    expect(cause).toMatchObject({ summary: "the connection was lost (http://127.0.0.1:3007)", cause: error });
  });

  it("keeps what the node has said", async () => {
    const details = [{ type: "test.Detail", value: Uint8Array.of(1) }];
    const reason = new ConnectError("no such thing", Code.NotFound, { "grpc-status": "5", "x-more": "1" });
    reason.details = details;
    const { error, cause } = await failureOf(make(ours(() => Promise.reject(reason)).transport));
    expect(cause).toBeInstanceOf(NodeError);
    expect(error).toMatchObject({ code: Code.NotFound, rawMessage: "no such thing", details });
    expect(error.metadata.get("x-more")).toBe("1");
    expect(cause.summary).toBe("the server answered NOT_FOUND: no such thing");
  });

  it("is the caller's giving up where its signal was aborted", async () => {
    const abort = new AbortController();
    const { transport } = ours(() => {
      abort.abort();
      throw lost();
    });
    const { cause } = await failureOf(make(transport, { signal: abort.signal }));
    expect(cause).toMatchObject({ name: "CanceledError" });
  });
});

it("a stream that breaks off fails with the library's error behind its messages", async () => {
  const { cause } = await failureOf(listen(ours(() => broken(lost(), "a")).transport));
  expect(cause).toMatchObject({ name: "ConnectionError", method: "test.Probe/Watch" });
});

describe("the failure of a call that does more than read", () => {
  it("leaves the outcome unknown where the connection was lost", async () => {
    const { error, cause } = await failureOf(ask(ours(() => Promise.reject(lost())).transport, { method: say }));
    const summary =
      "the connection was lost (http://127.0.0.1:3007); it is unknown whether the server executed the call";
    expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: summary });
    expect(cause).toMatchObject({
      summary,
      code: Code.Unavailable,
      advice: "Check the effects of the call before you repeat it.",
      connected: true,
      transport: "grpc",
      method: "test.Probe/Say",
      cause: { summary: "the connection was lost (http://127.0.0.1:3007)" },
    });
  });

  it("says that it was not sent where there was no connection", async () => {
    const refused = Object.assign(new Error("no"), { code: "ECONNREFUSED", syscall: "connect" });
    const { cause } = await failureOf(ask(ours(() => Promise.reject(refused)).transport, { method: say }));
    expect(cause).toMatchObject({ connected: false, summary: "the connection was refused (http://127.0.0.1:3007)" });
  });

  it("is the node's where it has answered", async () => {
    const reason = new ConnectError("busy", Code.Unavailable, { "grpc-status": "14" });
    const { cause } = await failureOf(ask(ours(() => Promise.reject(reason)).transport, { method: say }));
    expect(cause).toMatchObject({ name: "NodeError", summary: "the server answered UNAVAILABLE: busy" });
  });

  it("is the caller's giving up where its signal was aborted", async () => {
    const abort = new AbortController();
    const { transport } = ours(() => {
      abort.abort();
      throw lost();
    });
    const { cause } = await failureOf(ask(transport, { method: say, signal: abort.signal }));
    expect(cause).toMatchObject({ name: "CanceledError" });
  });

  it("leaves the outcome unknown where its time was up", async () => {
    const late = new DOMException("late", "TimeoutError");
    const { transport } = ours(() => Promise.reject(new Error("aborted")));
    const { cause } = await failureOf(ask(transport, { method: say, signal: AbortSignal.abort(late) }));
    expect(cause).toMatchObject({
      code: Code.DeadlineExceeded,
      summary: "the deadline of the call passed; it is unknown whether the server executed the call",
    });
  });
});

describe.each(kinds)("headers (%s)", (_, make, _method) => {
  it("are the endpoint's, and the call's before them", async () => {
    const { transport, inner } = ours(here, { headers: { "x-token": "ours", "x-own": "1" } });
    await make(transport, { header: { "X-Token": "the call's" } });
    await make(transport);
    expect(inner.calls.map(({ header }) => Object.fromEntries(header))).toEqual([
      { "x-token": "the call's", "x-own": "1" },
      { "x-token": "ours", "x-own": "1" },
    ]);
  });

  it("that only the connection sets are refused, and nothing is sent", async () => {
    const { transport, inner } = ours();
    const { error, cause } = await failureOf(make(transport, { header: { Host: "other.example" } }));
    expect(cause).toBeInstanceOf(RequestError);
    expect(cause.summary).toBe("the header host must not be set: only the connection sets it");
    expect(cause.advice).toBe("Remove it. Nothing was sent.");
    expect(error.code).toBe(Code.InvalidArgument);
    expect(inner.calls).toEqual([]);
  });

  it("do not go over plain HTTP to another machine, unless that is allowed", async () => {
    const url = "http://node.example:3007";
    const header = { authorization: "Bearer secret" };
    const { transport, inner } = ours(here, { url });
    const { cause } = await failureOf(make(transport, { header }));
    expect(cause).toBeInstanceOf(RequestError);
    expect(cause.summary).toBe("the header authorization would be sent over plain HTTP to node.example");
    expect(cause.advice).toBe("Use https, or set allowInsecureHeaders. Nothing was sent.");
    expect(inner.calls).toEqual([]);
    await make(transport); // It has no headers.

    for (const settings of [
      { url, allowInsecureHeaders: true },
      { url: "https://node.example:3007" },
      { url, addresses: ["127.0.0.1:3007"] },
    ]) {
      const open = ours(here, settings);
      await make(open.transport, { header });
      expect(open.inner.calls[0]?.header.get("authorization")).toBe("Bearer secret");
    }
    const elsewhere = ours(here, { addresses: ["127.0.0.1:3007", "192.0.2.1:3007"] });
    expect((await failureOf(make(elsewhere.transport, { header }))).cause.summary).toContain("plain HTTP to 192.0.2.1");
  });

  it("come with all else of the call", async () => {
    const { transport, inner } = ours();
    const { signal } = new AbortController();
    const contextValues = createContextValues();
    await make(transport, { signal, timeoutMs: 70, contextValues });
    expect(inner.calls).toMatchObject([{ timeoutMs: 70 }]);
    expect(inner.calls[0]?.signal).toBe(signal);
    expect(inner.calls[0]?.contextValues).toBe(contextValues);
  });
});

it("closing closes the transport", async () => {
  const { transport, inner } = ours();
  await transport.close();
  expect(inner.closed()).toBe(1);
});
