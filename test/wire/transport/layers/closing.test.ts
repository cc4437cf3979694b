import { getEventListeners } from "node:events";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { ConnectionError } from "tradewire";
import { closing } from "tradewire/transport";
import {
  ask,
  broken,
  listen,
  memoryTransport,
  open,
  reasonOf,
  text,
  texts,
} from "../../../support/memory-transport.js";

const kinds = [
  ["unary", ask, "test.Probe/Read"],
  ["stream", listen, "test.Probe/Watch"],
] as const;

const never = () => new Promise<never>(() => undefined);
const ended = (method: string, summary: string, connected: boolean) => ({
  code: Code.Canceled,
  rawMessage: summary,
  cause: { summary, transport: "grpc", method, code: Code.Canceled, connected },
});
const DURING = "the client was closed during the call";
const LATER = "the client is closed, so nothing was sent";

describe.each(kinds)("a call (%s)", (_, make, method) => {
  it("passes as it is", async () => {
    const inner = memoryTransport(() => texts("here"));
    const contextValues = createContextValues();
    const answer = await make(closing(inner, "grpc"), { timeoutMs: 70, header: { "x-own": "1" }, contextValues });
    expect([answer].flat()).toEqual(["here"]);
    expect(inner.calls).toMatchObject([{ timeoutMs: 70 }]);
    expect(inner.calls[0]?.header.get("x-own")).toBe("1");
    expect(inner.calls[0]?.contextValues).toBe(contextValues);
  });

  it("fails as the transport's does", async () => {
    const reason = new ConnectError("no", Code.NotFound);
    const inner = memoryTransport(() => Promise.reject(reason));
    expect(await reasonOf(make(closing(inner, "grpc")))).toBe(reason);
  });

  it("leaves nothing at its signal, which may outlive it", async () => {
    const { signal } = new AbortController();
    const transport = closing(
      memoryTransport(() => texts("here")),
      "grpc",
    );
    await make(transport, { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("gives a transport of another's making a signal of Node's", async () => {
    const inner = memoryTransport(({ signal }) => texts(String(signal instanceof AbortSignal)));
    expect([await make(closing(inner, "grpc"))].flat()).toEqual(["true"]);
  });

  it("ends with its signal", async () => {
    const abort = new AbortController();
    const reason = new Error("enough");
    const inner = memoryTransport(
      ({ signal }) => new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
    );
    const failure = reasonOf(make(closing(inner, "grpc"), { signal: abort.signal }));
    abort.abort(reason);
    expect(await failure).toBe(reason);
  });

  it("is its transport's to end where its signal was aborted before", async () => {
    const transport = closing(
      memoryTransport(() => texts("here")),
      "grpc",
    );
    expect([await make(transport, { signal: AbortSignal.abort() })].flat()).toEqual(["here"]);
  });

  it("ends at once when the client is closed, even where its transport does not end it", async () => {
    const inner = memoryTransport(never);
    const transport = closing(inner, "grpc");
    const failure = reasonOf(make(transport));
    await transport.close();
    const reason = await failure;
    expect(reason).toMatchObject(ended(method, DURING, true));
    expect(reason).toHaveProperty("cause", expect.any(ConnectionError));
    expect(inner.calls[0]?.signal?.aborted).toBe(true);
    expect(inner.calls[0]?.signal?.reason).toBe(reason);
  });

  it("is not sent once the client is closed", async () => {
    const inner = memoryTransport(() => texts("here"));
    const transport = closing(inner, "grpc");
    await transport.close();
    expect(await reasonOf(make(transport))).toMatchObject(ended(method, LATER, false));
    expect(inner.calls).toEqual([]);
  });

  it("is over when it has ended: closing does not touch it", async () => {
    for (const play of [() => texts("here"), () => Promise.reject(new Error("no")), () => broken(new Error("no"))]) {
      const inner = memoryTransport(play);
      const transport = closing(inner, "grpc");
      await make(transport).catch(() => undefined);
      await transport.close();
      expect(inner.calls[0]?.signal?.aborted).toBe(false);
    }
  });
});

describe("a stream that is being read", () => {
  it("ends at once when the client is closed, whether or not its reader waits", async () => {
    async function* messages() {
      yield text("a");
      await never();
    }
    for (const isWaiting of [true, false]) {
      const transport = closing(
        memoryTransport(() => ({ messages: messages() })),
        "grpc",
      );
      const iterator = (await open(transport)).message[Symbol.asyncIterator]();
      expect(await iterator.next()).toMatchObject({ value: { value: "a" } });
      const waiting = isWaiting ? reasonOf(iterator.next()) : undefined;
      await transport.close();
      expect(await (waiting ?? reasonOf(iterator.next()))).toMatchObject(ended("test.Probe/Watch", DURING, true));
    }
  });

  it("that its reader stops stops its source and its call, and is over", async () => {
    let stopped = 0;
    async function* messages() {
      try {
        yield text("a");
        yield text("b");
      } finally {
        stopped += 1;
      }
    }
    const inner = memoryTransport(() => ({ messages: messages() }));
    const transport = closing(inner, "grpc");
    const iterator = (await open(transport)).message[Symbol.asyncIterator]();
    await iterator.next();
    expect(await iterator.return?.("end")).toEqual({ done: true, value: "end" });
    expect(stopped).toBe(1);
    const signal = inner.calls[0]?.signal;
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toMatchObject({ code: Code.Canceled, rawMessage: "the rest of the response is not read" });
    const { reason } = signal as AbortSignal;
    await transport.close();
    expect(signal?.reason).toBe(reason);
  });

  it("leaves nothing at its signal when that ends it, though its end is not read", async () => {
    for (const isWaiting of [true, false]) {
      const abort = new AbortController();
      const inner = memoryTransport(() => texts("a", "b"));
      const iterator = (await open(closing(inner, "grpc"), { signal: abort.signal })).message[Symbol.asyncIterator]();
      const first = iterator.next();
      if (!isWaiting) {
        await first;
      }
      abort.abort();
      await first;
      expect(getEventListeners(abort.signal, "abort")).toEqual([]);
    }
  });

  it("is not over before its end", async () => {
    const inner = memoryTransport(() => texts("a", "b"));
    const transport = closing(inner, "grpc");
    await (await open(transport)).message[Symbol.asyncIterator]().next();
    await transport.close();
    expect(inner.calls[0]?.signal?.aborted).toBe(true);
  });

  it("that was read to its end stays so when the client is closed", async () => {
    const transport = closing(
      memoryTransport(() => texts("a")),
      "grpc",
    );
    const iterator = (await open(transport)).message[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.next();
    await transport.close();
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
    const iterator = (await open(closing(unstoppable, "grpc"))).message[Symbol.asyncIterator]();
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
  });
});

it("closing ends all calls, and closes the transport once", async () => {
  const inner = memoryTransport(never);
  const transport = closing(inner, "grpc");
  const failures = [ask(transport), listen(transport), ask(transport)].map(reasonOf);
  await Promise.all([transport.close(), transport.close()]);
  await transport.close();
  expect(inner.closed()).toBe(1);
  for (const failure of await Promise.all(failures)) {
    expect(failure).toMatchObject({ rawMessage: DURING });
  }
});
