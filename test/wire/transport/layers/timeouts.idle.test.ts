import type { ServerHttp2Stream } from "node:http2";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ConnectionError } from "tradewire";
import { createGrpcTransport, idleLimited } from "tradewire/transport";
import { ask, listen, memoryTransport, open, reasonOf, text, texts } from "../../../support/memory-transport.js";
import { watch } from "../../../support/probe.js";
import { envelope, serveStreams } from "../../../support/servers.js";
import { given } from "../../../support/taken.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../../support/virtual-runtime.js";

let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => runtime[Symbol.dispose]());

const IDLE_MS = 1000;
const silence = {
  code: Code.DeadlineExceeded,
  cause: {
    name: "ConnectionError",
    summary: "no data received for 1000 ms (idle timeout)",
    code: Code.DeadlineExceeded,
    connected: true,
  },
};

/** Let pass some time, and what is to happen then. */
const pass = (ms: number) => runtime.pass(ms);

/**
 * A stream that the test feeds. Its transport ends it, with the signal's reason, when its signal is aborted; `before`
 * is waited for before its headers come.
 */
function fed(before?: Promise<void>) {
  let give = (_: string | undefined) => {};
  const inner = memoryTransport(async ({ signal }) => {
    const ended = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
    ended.catch(() => undefined);
    async function* messages() {
      for (;;) {
        const given = new Promise<string | undefined>((resolve) => {
          give = resolve;
        });
        const value = await Promise.race([given, ended]);
        if (value === undefined) {
          return;
        }
        yield text(value);
      }
    }
    await Promise.race([before, ended]);
    return { messages: messages() };
  });
  const signal = () => inner.calls[0]?.signal;
  return { transport: idleLimited(inner, IDLE_MS), inner, signal, give: (value?: string) => give(value) };
}

describe("a stream in which nothing comes", () => {
  it("ends as well where this process is blocked again and again", async () => {
    const { transport } = fed(new Promise(() => {}));
    let isOver = false;
    const failure = reasonOf(open(transport)).finally(() => {
      isOver = true;
    });
    let passedMs = 0;
    for (; !isOver && passedMs < 400_000; passedMs += 1500) {
      runtime.skip(1499); // So each timer is late.
      await pass(1);
    }
    expect(await failure).toMatchObject(silence);
    expect(passedMs).toBeGreaterThan(300_000);
  });

  it("ends when its headers stay out", async () => {
    const { transport, signal } = fed(new Promise(() => {}));
    const failure = reasonOf(open(transport));
    await pass(IDLE_MS - 1);
    expect(signal()?.aborted).toBe(false);
    await pass(1);
    expect(signal()?.aborted).toBe(true);
    const reason = await failure;
    expect(reason).toMatchObject(silence);
    expect(reason).toHaveProperty("cause", expect.any(ConnectionError));
  });

  it("ends when its next message stays out, counted from when the reader began to wait", async () => {
    const { transport, signal, give } = fed();
    const iterator = (await open(transport)).message[Symbol.asyncIterator]();
    await pass(600);
    const first = iterator.next();
    await pass(900);
    give("a");
    expect(await first).toMatchObject({ value: { value: "a" } });
    const failure = reasonOf(iterator.next());
    await pass(IDLE_MS - 1);
    expect(signal()?.aborted).toBe(false);
    await pass(1);
    expect(await failure).toMatchObject(silence);
  });

  it("leaves no clock behind where its caller ends it and does not read on", async () => {
    const abort = new AbortController();
    const { transport, give } = fed();
    const iterator = (await open(transport, { signal: abort.signal })).message[Symbol.asyncIterator]();
    const first = iterator.next();
    give("a");
    await first;
    expect(runtime.timers()).toBe(1);
    abort.abort();
    expect(runtime.timers()).toBe(0);
  });

  it("is not ended for a reader that takes its time", async () => {
    const { transport, signal, give } = fed();
    const iterator = (await open(transport)).message[Symbol.asyncIterator]();
    await pass(5 * IDLE_MS);
    const first = iterator.next();
    give("a");
    await first;
    await pass(5 * IDLE_MS);
    expect(signal()?.aborted).toBe(false);
    const second = iterator.next();
    await pass(IDLE_MS - 1);
    give("b");
    expect(await second).toMatchObject({ value: { value: "b" } });
  });

  it("has all its time again with every byte", async () => {
    let sent: (stream: ServerHttp2Stream) => void = () => undefined;
    const opened = new Promise<ServerHttp2Stream>((resolve) => {
      sent = resolve;
    });
    const server = await serveStreams((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
      stream.write(envelope(new Uint8Array()));
      sent(stream);
    });
    const transport = createGrpcTransport({ url: server.url, timeouts: { idleMs: IDLE_MS } });
    const { message } = await transport.stream(watch, undefined, undefined, undefined, given([{}]));
    const iterator = message[Symbol.asyncIterator]();
    await iterator.next();
    const failure = reasonOf(iterator.next());
    const stream = await opened;
    const half = envelope(new Uint8Array(5));
    for (let bytes = 0; bytes < 5; bytes += 1) {
      await pass(IDLE_MS - 1);
      stream.write(half.subarray(bytes, bytes + 1));
      await new Promise((arrived) => stream.session?.ping(arrived)); // Answered behind what was written.
    }
    await pass(IDLE_MS - 1);
    expect(stream.closed).toBe(false);
    await pass(1);
    expect(await failure).toMatchObject(silence);
    await transport.close();
    await server.close();
  });
});

describe("a stream that is over", () => {
  it("lets its transport go, at its end", async () => {
    const inner = memoryTransport(() => texts("a", "b"));
    expect(await listen(idleLimited(inner, IDLE_MS))).toEqual(["a", "b"]);
    expect(inner.calls[0]?.signal?.aborted).toBe(true);
    expect(runtime.timers()).toBe(0);
  });

  it("lets its transport go, where it fails", async () => {
    const reason = new Error("gone");
    const inner = memoryTransport(() => {
      throw reason;
    });
    expect(await reasonOf(open(idleLimited(inner, IDLE_MS)))).toBe(reason);
    expect(inner.calls[0]?.signal?.aborted).toBe(true);
    expect(runtime.timers()).toBe(0);
  });

  it("lets its transport go, where it breaks off", async () => {
    const reason = new Error("gone");
    async function* messages() {
      yield text("a");
      throw reason;
    }
    const inner = memoryTransport(() => ({ messages: messages() }));
    expect(await reasonOf(listen(idleLimited(inner, IDLE_MS)))).toBe(reason);
    expect(inner.calls[0]?.signal?.aborted).toBe(true);
    expect(runtime.timers()).toBe(0);
  });

  it("lets its transport go, where the reader stops", async () => {
    const { transport, signal, give } = fed();
    const iterator = (await open(transport)).message[Symbol.asyncIterator]();
    const first = iterator.next();
    give("a");
    await first;
    expect(await iterator.return?.("end")).toEqual({ done: true, value: "end" });
    expect(signal()?.aborted).toBe(true);
    expect(runtime.timers()).toBe(0);
  });

  it("ends with the caller's signal", async () => {
    const abort = new AbortController();
    const { transport } = fed();
    const reading = reasonOf(listen(transport, { signal: abort.signal }));
    await pass(1);
    const reason = new Error("enough");
    abort.abort(reason);
    expect(await reading).toBe(reason);
  });
});

it("the clock does not keep the process alive", async () => {
  const { transport } = fed();
  const iterator = (await open(transport)).message[Symbol.asyncIterator]();
  expect([runtime.timers(), runtime.refs()]).toEqual([1, 0]);
  await pass(500);
  const next = iterator.next();
  await pass(900); // The first timer has found that the reader has waited for half of the time.
  expect([runtime.timers(), runtime.refs()]).toEqual([1, 0]);
  await iterator.return?.();
  await reasonOf(next);
});

it("other calls pass as they are", async () => {
  const inner = memoryTransport(() => texts("here"));
  const { signal } = new AbortController();
  expect(await ask(idleLimited(inner, IDLE_MS), { signal, timeoutMs: 70 })).toBe("here");
  expect(inner.calls).toMatchObject([{ timeoutMs: 70 }]);
  expect(inner.calls[0]?.signal).toBe(signal);
  expect(runtime.timers()).toBe(0);
});

it("closing closes the transport", async () => {
  const inner = memoryTransport(() => texts());
  await idleLimited(inner, IDLE_MS).close();
  expect(inner.closed()).toBe(1);
});
