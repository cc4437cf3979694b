import { Code, ConnectError, createContextValues, type Transport } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { BannedError } from "tradewire";
import { createPace, type Pace, paced } from "tradewire/transport";
import {
  type Answer,
  ask,
  listen,
  type MadeCall,
  memoryTransport,
  reasonOf,
  texts,
} from "../../../support/memory-transport.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../../support/virtual-runtime.js";

let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => runtime[Symbol.dispose]());

const kinds = [
  ["unary", ask],
  ["stream", listen],
] as const;

/** A transport whose calls keep a pace of ten a second, one at a time, and what the pace was told of the answers. */
function pacedTransport(
  play: (call: MadeCall, before: number) => Answer | Promise<Answer> = () => texts("here"),
  isCounted = true,
) {
  const told: unknown[] = [];
  const inner = memoryTransport(play);
  const pace = createPace(10);
  const telling: Pace = {
    ...pace,
    async turn(...args) {
      const answered = await pace.turn(...args);
      return (answer) => {
        told.push(answer);
        return answered(answer);
      };
    },
  };
  return { transport: paced(inner, telling, () => isCounted), inner, told };
}

const failing = (reason: unknown) => () => {
  throw reason;
};
const limit = { "ratelimit-limit": "10", "ratelimit-remaining": "3", "ratelimit-reset": "1" };
const left = async (transport: Transport, make: typeof ask | typeof listen, timeoutMs?: number) => {
  await runtime.pass(5000);
  await make(transport);
  const call = make(transport, timeoutMs === undefined ? {} : { timeoutMs });
  await runtime.pass(100);
  await call;
};

describe.each(kinds)("a call that nodes count (%s)", (_, make) => {
  it("is sent in its turn, and as it is", async () => {
    const { transport, inner } = pacedTransport();
    const { signal } = new AbortController();
    const contextValues = createContextValues();
    await make(transport);
    const second = make(transport, { signal, contextValues, header: { "x-own": "1" } });
    await runtime.pass(99);
    expect(inner.calls).toHaveLength(1);
    await runtime.pass(1);
    await second;
    expect(inner.calls[1]?.signal).toBe(signal);
    expect(inner.calls[1]?.contextValues).toBe(contextValues);
    expect(inner.calls[1]?.header.get("x-own")).toBe("1");
  });

  it.each([
    [1000, 900],
    [250.5, 151],
    [101, 1],
    [0, 0],
    [undefined, undefined],
  ])("of %p ms has %p left after a wait of 100", async (timeoutMs, expected) => {
    const { transport, inner } = pacedTransport();
    await left(transport, make, timeoutMs);
    expect(inner.calls[1]?.timeoutMs).toBe(expected);
  });

  it("is not sent once its time is up", async () => {
    const { transport, inner } = pacedTransport();
    await make(transport);
    const failure = reasonOf(make(transport, { timeoutMs: 50 }));
    const next = make(transport);
    await runtime.pass(50);
    expect(await failure).toMatchObject({ cause: { code: Code.DeadlineExceeded, connected: false } });
    expect(inner.calls).toHaveLength(1);
    await runtime.pass(50);
    await next; // It has moved up.
    expect(inner.calls).toHaveLength(2);
  });

  it("leaves with its signal", async () => {
    const { transport, inner } = pacedTransport();
    await make(transport);
    const reason = new Error("enough");
    const abort = new AbortController();
    const failure = reasonOf(make(transport, { signal: abort.signal }));
    abort.abort(reason);
    expect(await failure).toMatchObject({
      code: Code.Canceled,
      cause: { name: "CanceledError", mayHaveBeenSent: false, cause: reason },
    });
    expect(inner.calls).toHaveLength(1);
  });

  it("tells the pace what its answer says, in its headers or its trailers", async () => {
    const { transport, told } = pacedTransport((_call, before) => ({
      ...texts("here"),
      header: before === 0 ? { ...limit, "x-from": "header" } : {},
      trailer: { ...limit, "x-from": "trailer" },
    }));
    await left(transport, make);
    expect(told.map((headers) => headers instanceof Headers && headers.get("x-from"))).toEqual(["header", "trailer"]);
  });

  it("tells the pace its failure, which passes unchanged", async () => {
    const reason = new ConnectError("no", Code.NotFound);
    const { transport, told } = pacedTransport(failing(reason));
    expect(await reasonOf(make(transport))).toBe(reason);
    expect(told).toEqual([reason]);

    const other = new Error("no connection");
    const broken = pacedTransport(failing(other));
    expect(await reasonOf(make(broken.transport))).toBe(other);
    expect(broken.told).toEqual([expect.any(ConnectError)]);
  });

  it("fails for its own reason where the transport is closed meanwhile", async () => {
    let fail = (_: unknown) => {};
    const { transport, inner } = pacedTransport(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    const failure = reasonOf(make(transport));
    await runtime.pass(0);
    expect(inner.calls).toHaveLength(1);
    await transport.close();
    const reason = new ConnectError("gone", Code.Unavailable);
    fail(reason);
    expect(await failure).toBe(reason);
  });

  it("fails with the ban where the node bans this address", async () => {
    const ban = new ConnectError("banned", Code.PermissionDenied, { "retry-after": "60" });
    const { transport, inner } = pacedTransport(failing(ban));
    for (let call = 0; call < 2; call += 1) {
      expect(await reasonOf(make(transport))).toHaveProperty("cause", expect.any(BannedError));
    }
    expect(inner.calls).toHaveLength(1);
  });

  it("has one code where it is refused as one too many, whatever HTTP's status stands for", async () => {
    const nothing = { ...limit, "ratelimit-remaining": "0" };
    const [http, grpc] = [Code.Unavailable, Code.ResourceExhausted].map(
      (code) => new ConnectError("HTTP 429", code, nothing),
    );
    const failure = await reasonOf(make(pacedTransport(failing(http)).transport));
    expect(failure).toMatchObject({ code: Code.ResourceExhausted, rawMessage: "HTTP 429" });
    expect(failure instanceof ConnectError && failure.metadata.get("ratelimit-remaining")).toBe("0");
    expect(await reasonOf(make(pacedTransport(failing(grpc)).transport))).toBe(grpc);
    const busy = new ConnectError("HTTP 503", Code.Unavailable, limit);
    expect(await reasonOf(make(pacedTransport(failing(busy)).transport))).toBe(busy);
  });
});

describe("a stream that nodes do not count", () => {
  it("waits for no turn", async () => {
    const { transport, inner, told } = pacedTransport(undefined, false);
    const options = { timeoutMs: 70, header: { "x-own": "1" } };
    expect(await listen(transport, options)).toEqual(["here"]);
    expect(await listen(transport, options)).toEqual(["here"]);
    expect(inner.calls.map(({ timeoutMs, header }) => [timeoutMs, header.get("x-own")])).toEqual([
      [70, "1"],
      [70, "1"],
    ]);
    expect(told).toEqual([]);
  });

  it("is not sent while the address is banned", async () => {
    const ban = new ConnectError("banned", Code.PermissionDenied, { "retry-after": "60" });
    const { transport, inner } = pacedTransport(failing(ban), false);
    await reasonOf(ask(transport));
    expect(await reasonOf(listen(transport))).toHaveProperty("cause", expect.any(BannedError));
    expect(inner.calls).toHaveLength(1);
  });
});

it("closing fails the calls that wait, and closes the transport", async () => {
  const { transport, inner } = pacedTransport();
  await ask(transport);
  const failure = reasonOf(ask(transport));
  await transport.close();
  expect(await failure).toMatchObject({ code: Code.Canceled });
  expect(inner.closed()).toBe(1);
  expect(inner.calls).toHaveLength(1);
});
