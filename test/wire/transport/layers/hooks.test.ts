import { getEventListeners } from "node:events";
import { create } from "@bufbuild/protobuf";
import { BytesValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type CallEnd, type CallInfo, CanceledError, ConnectionError } from "tradewire";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { fallback, withHooks } from "tradewire/transport";
import {
  type Answer,
  ask,
  broken,
  listen,
  type MadeCall,
  memoryTransport,
  open,
  reasonOf,
  texts,
  thrown,
} from "../../../support/memory-transport.js";
import { send, watch } from "../../../support/probe.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../../support/virtual-runtime.js";

let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => runtime[Symbol.dispose]());

const kinds = [
  ["unary", ask, "test.Probe/Read"],
  ["stream", listen, "test.Probe/Watch"],
] as const;

const endpoint = { name: "rest", url: "http://node.example" };

/** A transport, and what its hooks were told. */
function told(play: (call: MadeCall) => Answer | Promise<Answer> = () => texts("here")) {
  const starts: CallInfo[] = [];
  const bytes: [CallInfo, number][] = [];
  const ends: [CallInfo, CallEnd][] = [];
  const inner = memoryTransport(play);
  const transport = withHooks(inner, endpoint, {
    onCallStart: (call) => starts.push(call),
    onBytes: (call, count) => bytes.push([call, count]),
    onCallEnd: (call, end) => ends.push([call, end]),
  });
  return { transport, inner, starts, bytes, ends };
}

describe.each(kinds)("a call (%s)", (_, make, method) => {
  it("is told of at its start and its end, with its number and its duration", async () => {
    const { transport, inner, starts, bytes, ends } = told(() => {
      runtime.skip(250);
      return texts("here");
    });
    const contextValues = createContextValues();
    await make(transport, { timeoutMs: 70, header: { "x-own": "1" }, contextValues });
    expect(starts).toEqual([{ id: expect.any(Number), method, transport: "rest" }]);
    expect(bytes).toEqual([[starts[0], 6]]);
    expect(ends).toEqual([[starts[0], { durationMs: 250, messages: 1 }]]);
    expect(inner.calls).toMatchObject([{ timeoutMs: 70 }]);
    expect(inner.calls[0]?.header.get("x-own")).toBe("1");
    expect(inner.calls[0]?.contextValues).toBe(contextValues);
  });

  it("has a number that no other has, which the layers below see", async () => {
    const starts: number[] = [];
    const below: number[] = [];
    const absent = () => {
      throw thrown(new ConnectionError("lost", { code: Code.Unavailable, advice: "Look." }));
    };
    const members = [absent, () => texts("here")].map((play, index) => ({
      name: String(index),
      transport: memoryTransport(play),
    }));
    const two = fallback(members, { pauseMs: 0, hooks: { onFallback: ({ id }) => below.push(id) } });
    const transport = withHooks(two, endpoint, { onCallStart: ({ id }) => starts.push(id) });
    await make(transport);
    await make(transport);
    const [first = 0, second] = starts;
    expect(second).toBe(first + 1);
    expect(below).toEqual(starts);
  });

  it("ends with its failure, as the library's error", async () => {
    const reason = thrown(new ConnectionError("lost", { code: Code.Unavailable, advice: "Look." }));
    const { transport, ends } = told(() => Promise.reject(reason));
    expect(await reasonOf(make(transport))).toBe(reason);
    expect(ends).toEqual([[expect.anything(), { durationMs: 0, messages: 0, error: reason.cause }]]);

    const foreign = told(() => Promise.reject(new ConnectError("odd", Code.Internal)));
    await reasonOf(make(foreign.transport));
    const error = { transport: "rest", method, summary: "odd (http://node.example)" };
    expect(foreign.ends).toMatchObject([[{}, { error }]]);
  });

  it("ends once where it is aborted, and with that", async () => {
    const abort = new AbortController();
    const { transport, ends } = told(
      ({ signal }) => new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("later")))),
    );
    const failure = reasonOf(make(transport, { signal: abort.signal }));
    abort.abort(new Error("enough"));
    expect(ends).toMatchObject([[{ method }, { error: { cause: { message: "enough" } } }]]);
    expect(ends[0]?.[1].error).toBeInstanceOf(CanceledError);
    await failure;
    expect(ends).toHaveLength(1);
  });

  it("no longer listens to its signal when it has ended", async () => {
    const abort = new AbortController();
    const { transport, ends } = told();
    const made = make(transport, { signal: abort.signal });
    expect(getEventListeners(abort.signal, "abort").length).toBeGreaterThan(0);
    await made;
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
    abort.abort();
    expect(ends).toHaveLength(1);
    expect(ends[0]?.[1]).not.toHaveProperty("error");
  });

  it("needs no hooks", async () => {
    const transport = withHooks(
      memoryTransport(() => texts("here")),
      endpoint,
      {},
    );
    expect([await make(transport)].flat()).toEqual(["here"]);
  });
});

describe("a stream", () => {
  it("counts its messages, and their bytes as they come", async () => {
    const { transport, bytes, ends } = told(() => texts("a", "", "ccc"));
    expect(await listen(transport)).toEqual(["a", "", "ccc"]);
    expect(bytes.map(([, count]) => count)).toEqual([3, 0, 5]);
    expect(ends).toMatchObject([[{}, { messages: 3 }]]);
  });

  it("that breaks off ends with that, after its messages", async () => {
    const reason = thrown(new ConnectionError("lost", { code: Code.Unavailable, advice: "Look." }));
    const { transport, ends } = told(() => broken(reason, "a", "b"));
    expect(await reasonOf(listen(transport))).toBe(reason);
    expect(ends).toMatchObject([[{}, { messages: 2, error: reason.cause }]]);
  });

  it("ends where its reader stops, and stops its source", async () => {
    const { transport, ends } = told(() => texts("a", "b"));
    const iterator = (await open(transport)).message[Symbol.asyncIterator]();
    await iterator.next();
    expect(ends).toEqual([]);
    expect(await iterator.return?.("end")).toEqual({ done: true, value: "end" });
    expect(ends).toMatchObject([[{}, { messages: 1 }]]);
    expect(ends[0]?.[1]).not.toHaveProperty("error");
    expect(await iterator.next()).toMatchObject({ done: true });
  });

  it("may come from a source that cannot be stopped", async () => {
    const inner = memoryTransport(() => texts("a"));
    const unstoppable: typeof inner = {
      ...inner,
      async stream(...call) {
        const response = await inner.stream(...call);
        const iterator = response.message[Symbol.asyncIterator]();
        return { ...response, message: { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) } };
      },
    };
    const { message } = await open(withHooks(unstoppable, endpoint, {}));
    expect(await message[Symbol.asyncIterator]().return?.()).toEqual({ done: true, value: undefined });
  });

  it("of parts of an HTTP body counts the bytes of their data", async () => {
    const data = Buffer.from("PK rest");
    const { transport, bytes } = told(() => ({
      messages: [create(HttpBodySchema, { contentType: "text/csv", data })],
    }));
    async function* none() {}
    const method = { ...watch, output: HttpBodySchema };
    const { message } = await transport.stream(method, undefined, undefined, undefined, none());
    for await (const part of message) {
      expect(part.data).toEqual(data);
    }
    expect(bytes.map(([, count]) => count)).toEqual([7]);
  });

  it("of other messages counts their binary size", async () => {
    const { transport, bytes } = told(() => ({ messages: [create(BytesValueSchema, { value: Buffer.from("PK") })] }));
    async function* none() {}
    for await (const _ of (await transport.stream(send, undefined, undefined, undefined, none())).message) {
      // Only its size counts.
    }
    expect(bytes.map(([, count]) => count)).toEqual([4]);
  });
});

it("closing closes the transport", async () => {
  const { transport, inner } = told();
  await transport.close();
  expect(inner.closed()).toBe(1);
});
