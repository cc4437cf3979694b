import { getEventListeners } from "node:events";
import { create } from "@bufbuild/protobuf";
import { BoolValueSchema } from "@bufbuild/protobuf/wkt";
import {
  Code,
  ConnectError,
  createContextKey,
  createContextValues,
  type Interceptor,
  type StreamRequest,
  type UnaryRequest,
} from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { limited } from "tradewire/transport";
import { remainingMs } from "../../../src/wire/transport/call-context.js";
import { ask, listen, type MadeCall, memoryTransport, reasonOf, texts } from "../../support/memory-transport.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../support/virtual-runtime.js";

const colour = createContextKey("");
let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => runtime[Symbol.dispose]());

const kinds = [
  ["unary", ask],
  ["stream", listen],
] as const;

/** A transport with a limit of a second, within which interceptors take `tookMs` before each call. */
function limitedTransport({
  tookMs = 0,
  url = "http://node.example:3007",
  isSilent = false,
  play = (_: MadeCall) => {},
} = {}) {
  const inner = memoryTransport((call) => {
    play(call);
    const { signal } = call;
    return isSilent
      ? new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
      : texts("here");
  });
  const requests: (UnaryRequest | StreamRequest)[] = [];
  const taking: Interceptor = (next) => (req) => {
    requests.push(req);
    runtime.skip(tookMs);
    return next(req);
  };
  const transport = limited(inner, { url, timeouts: { callMs: 1000 }, interceptors: [taking] });
  return { transport, inner, requests };
}

describe.each(kinds)("the time of a call (%s)", (_, make) => {
  it.each([
    ["the call's own", 4000, 300, 3700],
    ["a whole number of milliseconds", 4000, 0.5, 4000],
    ["at least a millisecond", 4000, 3999.5, 1],
    ["at least a millisecond, when it is over", 4000, 9000, 1],
  ])("is %s; the transport gets the rest", async (_, timeoutMs, tookMs, expected) => {
    let left: number | undefined;
    const { transport, inner } = limitedTransport({
      tookMs,
      play: ({ contextValues }) => {
        left = remainingMs(contextValues);
      },
    });
    await make(transport, { timeoutMs });
    expect(inner.calls.map((call) => call.timeoutMs)).toEqual([expected]);
    expect(left).toBe(timeoutMs - tookMs);
  });

  it.each([0, -1, Number.POSITIVE_INFINITY])("has no limit where it is %d", async (timeoutMs) => {
    const contextValues = createContextValues();
    const { transport, inner } = limitedTransport({ tookMs: 5000 });
    await make(transport, { timeoutMs: 1000, contextValues }); // Its limit does not outlive it.
    await make(transport, { timeoutMs, contextValues });
    expect(inner.calls[1]?.timeoutMs).toBeUndefined();
    expect(remainingMs(contextValues)).toBeUndefined();
  });

  it("is the longest that a timer can wait where it is longer: the timer would be over at once", async () => {
    const { transport, inner } = limitedTransport();
    expect([await make(transport, { timeoutMs: 2 ** 40 })].flat()).toEqual(["here"]);
    expect(inner.calls.map(({ timeoutMs }) => timeoutMs)).toEqual([2 ** 31 - 1]);
  });

  it("ends the call when it is up", async () => {
    const { transport } = limitedTransport({ isSilent: true });
    const failure = reasonOf(make(transport, { timeoutMs: 4 }));
    expect(await runtime.until(failure)).toMatchObject({ code: Code.DeadlineExceeded });
  });
});

it("a call that does not stream has the configuration's time where it has none of its own", async () => {
  const { transport, inner } = limitedTransport({ tookMs: 300 });
  await ask(transport);
  await listen(transport);
  expect(inner.calls.map(({ timeoutMs }) => timeoutMs)).toEqual([700, undefined]);
});

describe.each(kinds)("interceptors (%s)", (kind, make) => {
  it("see the call, and its address under the URL", async () => {
    for (const url of ["https://node.example/api", "https://node.example/api/"]) {
      const { transport, requests } = limitedTransport({ url });
      const contextValues = createContextValues().set(colour, "blue");
      await make(transport, { header: { "x-own": "1" }, contextValues });
      const [request] = requests;
      const name = kind === "unary" ? "Read" : "Watch";
      expect(request).toMatchObject({
        url: `https://node.example/api/test.Probe/${name}`,
        requestMethod: "POST",
        stream: kind === "stream",
        method: { name },
        service: { typeName: "test.Probe" },
      });
      expect(request?.contextValues.get(colour)).toBe("blue");
      expect(request?.header.get("x-own")).toBe("1");
    }
  });

  it("may change what is sent", async () => {
    const inner = memoryTransport(() => texts("here"));
    const changing: Interceptor = (next) => (req) => {
      req.header.set("x-added", "2");
      return next(req);
    };
    const transport = limited(inner, { url: "http://a.example", timeouts: { callMs: 1000 }, interceptors: [changing] });
    await make(transport);
    expect(inner.calls[0]?.header.get("x-added")).toBe("2");
    expect(inner.calls[0]?.method.name).toBe(kind === "unary" ? "Read" : "Watch");
  });
});

it.each(kinds)("the caller's signal ends a call (%s)", async (_, make) => {
  const abort = new AbortController();
  const { transport, inner } = limitedTransport({ isSilent: true });
  const failure = reasonOf(make(transport, { signal: abort.signal }));
  while (inner.calls.length === 0) {
    await new Promise(setImmediate);
  }
  const reason = new Error("enough");
  abort.abort(reason);
  expect(inner.calls[0]?.signal?.reason).toBe(reason);
  expect(await failure).toMatchObject({ code: Code.Canceled });
});

it("the signal of a call ends with it, and the call leaves nothing at the caller's", async () => {
  const { signal } = new AbortController();
  const { transport, inner, requests } = limitedTransport();
  await ask(transport, { signal });
  const { transport: failing, requests: failed } = limitedTransport({
    play() {
      throw new ConnectError("busy", Code.Unavailable);
    },
  });
  const reason = await reasonOf(ask(failing, { signal }));
  expect(inner.calls[0]?.signal?.aborted).toBe(true);
  expect(requests[0]?.signal.reason).toMatchObject({ name: "AbortError", message: "the call has ended" });
  expect(reason).toMatchObject({ code: Code.Unavailable, rawMessage: "busy" });
  expect(failed[0]?.signal.reason).toBe(reason);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("a call with a signal that was aborted before fails with its reason", async () => {
  const { transport } = limitedTransport({ play: ({ signal }) => signal?.throwIfAborted() });
  const failure = reasonOf(ask(transport, { signal: AbortSignal.abort(new Error("enough")) }));
  expect(await failure).toMatchObject({ code: Code.Canceled, rawMessage: "enough" });
});

it("an interceptor cannot answer a call with a message of another type", async () => {
  const changing: Interceptor = (next) => async (req) => {
    const response = await next(req);
    return response.stream ? response : { ...response, message: create(BoolValueSchema) };
  };
  const inner = memoryTransport(() => texts("here"));
  const transport = limited(inner, { url: "http://a.example", timeouts: { callMs: 1000 }, interceptors: [changing] });
  expect(await reasonOf(ask(transport))).toMatchObject({ code: Code.Internal });
});

it("a call of no limited transport has no limit", () => {
  expect(remainingMs(createContextValues())).toBeUndefined();
});

it("closing closes the transport", async () => {
  const { transport, inner } = limitedTransport();
  await transport.close();
  expect(inner.closed()).toBe(1);
});
