import { setImmediate as turn } from "node:timers/promises";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
  type CallInfo,
  ConnectionError,
  type FallbackInfo,
  type FallbackOptions,
  fallback,
  NodeError,
  ProtocolError,
  type TradewireError,
} from "tradewire";
import { limited, withHooks } from "tradewire/transport";
import {
  type Answer,
  ask,
  broken,
  listen,
  type MadeCall,
  memoryTransport,
  open,
  reasonOf,
  requested,
  texts,
  thrown,
} from "../../../support/memory-transport.js";
import { join, say, talk } from "../../../support/probe.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../../support/virtual-runtime.js";
import { takeWarnings } from "../../../support/warnings.js";

let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => runtime[Symbol.dispose]());

const ofNode = (code: Code) => new NodeError({ code, message: "no", details: [] });
const ofConnection = (connected: boolean, code = Code.Unavailable) =>
  new ConnectionError("no connection", { code, advice: "Look.", connected });
const ofProtocol = (code: Code) => new ProtocolError("odd", { code, advice: "Look." });
const refused = () => thrown(ofConnection(false));
const lost = () => thrown(ofConnection(true));

type Play = (call: MadeCall, before: number) => Answer | Promise<Answer>;
const fail =
  (reason: unknown): Play =>
  () => {
    throw reason;
  };
const succeed: Play = () => texts("here");

/** Transports `a`, `b`, `c`, … composed, and what was seen of them. */
function composed(plays: readonly Play[], options: FallbackOptions = {}) {
  const told: FallbackInfo[] = [];
  const inner = plays.map(memoryTransport);
  const members = inner.map((transport, index) => ({ name: "abc"[index] ?? "", transport }));
  const starts: CallInfo[] = [];
  const whole = fallback(members, { hooks: { onFallback: (info) => told.push(info) }, ...options });
  const endpoint = { name: "auto", url: "http://node.example" };
  const transport = withHooks(whole, endpoint, { onCallStart: (call) => starts.push(call) });
  return { transport, inner, starts, told, counts: () => inner.map(({ calls }) => calls.length) };
}

it.each([["say", say] as const, ["ask", undefined] as const])(
  "a call that was sent over a transport in its cooldown does not fail as if nothing was sent (%s)",
  async (_name, method) => {
    const { transport, counts } = composed([
      (call, before) => fail(before === 0 ? refused() : lost())(call, before),
      (call, before) => (before === 0 ? texts("here") : fail(refused())(call, before)),
    ]);
    expect(await ask(transport)).toBe("here"); // The first transport is in its cooldown now.
    const { cause } = ConnectError.from(await reasonOf(ask(transport, method && { method })));
    expect(cause).toMatchObject({ name: "ConnectionError", connected: true });
    expect(counts()).toEqual([2, 2]);
  },
);

describe("a call that only reads", () => {
  it("is made over the first transport alone where that answers", async () => {
    const { transport, counts, told } = composed([succeed, succeed]);
    expect(await ask(transport)).toBe("here");
    expect(await listen(transport)).toEqual(["here"]);
    expect(counts()).toEqual([2, 0]);
    expect(told).toEqual([]);
  });

  it.each<[string, TradewireError]>([
    ["cannot be reached", ofConnection(false)],
    ["is lost", ofConnection(true)],
    ["says nothing in its time", ofConnection(true, Code.DeadlineExceeded)],
    ["breaks the call off", ofConnection(true, Code.Internal)],
    ["leads to a node that is unavailable", ofNode(Code.Unavailable)],
    ["does not offer the method", ofNode(Code.Unimplemented)],
    ["is answered by something else", ofProtocol(Code.Internal)],
    ["is answered by a part", ofProtocol(Code.DataLoss)],
  ])("goes on to the next one where one %s, and that is told", async (_, error) => {
    const { transport, counts, starts, told, inner } = composed([fail(thrown(error)), succeed]);
    expect(await ask(transport)).toBe("here");
    expect(await listen(transport)).toEqual(["here"]);
    expect(counts()).toEqual([error instanceof ConnectionError ? 1 : 2, 2]);
    expect(told[0]).toEqual({ id: starts[0]?.id, method: "test.Probe/Read", from: "a", to: "b", error });
    expect(inner[1]?.calls[0]).toMatchObject({ input: { value: "ask" } });
  });

  it.each<[string, TradewireError]>([
    ["the node refuses it", ofNode(Code.InvalidArgument)],
    ["the node breaks at it", ofNode(Code.Internal)],
    ["the node has lost data", ofNode(Code.DataLoss)],
    ["the node has run out of something", ofNode(Code.ResourceExhausted)],
    ["the answer is larger than allowed", ofProtocol(Code.ResourceExhausted)],
  ])("stays where %s", async (_, error) => {
    const reason = thrown(error);
    const { transport, counts, told } = composed([fail(reason), succeed]);
    expect(await reasonOf(ask(transport))).toBe(reason);
    expect(await reasonOf(listen(transport))).toBe(reason);
    expect(counts()).toEqual([2, 0]);
    expect(told).toEqual([]);
  });

  it("fails where all do, with the last failure, which names the earlier ones", async () => {
    const { transport, counts, told } = composed([refused, lost, refused].map((make) => fail(make())));
    expect(await reasonOf(ask(transport))).toMatchObject({
      cause: {
        summary: "no connection (previously over a: no connection; previously over b: no connection)",
        transport: "c",
        connected: false,
      },
    });
    expect(counts()).toEqual([1, 1, 1]);
    expect(told.map(({ from, to }) => [from, to])).toEqual([
      ["a", "b"],
      ["b", "c"],
    ]);
  });

  it("does not go on where its caller has given up", async () => {
    const abort = new AbortController();
    const reason = refused();
    const play = () => {
      abort.abort();
      throw reason;
    };
    const { transport, counts } = composed([play, succeed]);
    expect(await reasonOf(ask(transport, { signal: abort.signal }))).toBe(reason);
    expect(counts()).toEqual([1, 0]);
    // Nor does the transport rest for that.
    expect(await reasonOf(ask(transport, { signal: abort.signal }))).toBe(reason);
    expect(counts()).toEqual([2, 0]);
  });

  it("names the transport in errors of transports that others made", async () => {
    const { transport, told } = composed([fail(new ConnectError("gone", Code.Canceled)), succeed]);
    await ask(transport);
    expect(told[0]?.error).toMatchObject({
      summary: "the connection was lost (a)",
      transport: "a",
      method: "test.Probe/Read",
    });
  });
});

describe("a call that does more than read", () => {
  it("goes on where there was no connection", async () => {
    const { transport, counts } = composed([fail(refused()), succeed]);
    expect(await ask(transport, { method: say })).toBe("here");
    expect(counts()).toEqual([1, 1]);
  });

  it.each<[string, TradewireError]>([
    ["the connection was lost", ofConnection(true)],
    ["the node is unavailable", ofNode(Code.Unavailable)],
    ["the node does not offer it", ofNode(Code.Unimplemented)],
    ["something else has answered", ofProtocol(Code.Internal)],
  ])("is made once where %s", async (_, error) => {
    const reason = thrown(error);
    const { transport, counts, told } = composed([fail(reason), succeed]);
    expect(await reasonOf(ask(transport, { method: say }))).toBe(reason);
    expect(counts()).toEqual([1, 0]);
    expect(told).toEqual([]);
  });

  it("rests a transport whose connection was lost: later calls take the next one", async () => {
    const { transport, counts } = composed([fail(lost()), succeed]);
    await reasonOf(ask(transport, { method: say }));
    expect(await ask(transport, { method: say })).toBe("here");
    expect(counts()).toEqual([1, 1]);
  });
});

describe("a transport that could not be reached", () => {
  it("rests: nothing is sent over it until its pause is over", async () => {
    const { transport, counts } = composed([fail(refused()), succeed], { pauseMs: 500 });
    await ask(transport);
    runtime.skip(499);
    await ask(transport);
    expect(counts()).toEqual([1, 2]);
    runtime.skip(1);
    await ask(transport);
    expect(counts()).toEqual([2, 3]);
  });

  it("rests twice as long after each failure, up to the longest pause", async () => {
    const { transport, counts } = composed([fail(refused()), succeed], { pauseMs: 100, maxPauseMs: 350 });
    await ask(transport);
    for (const [index, pause] of [100, 200, 350, 350].entries()) {
      runtime.skip(pause - 1);
      await ask(transport);
      expect(counts()[0]).toBe(index + 1);
      runtime.skip(1);
      await ask(transport);
      expect(counts()[0]).toBe(index + 2);
    }
  });

  it("rests 30 seconds by default, and 5 minutes at most", async () => {
    const { transport, counts } = composed([fail(refused()), succeed]);
    await ask(transport);
    for (const [index, pause] of [30_000, 60_000, 120_000, 240_000, 300_000, 300_000].entries()) {
      runtime.skip(pause - 1);
      await ask(transport);
      expect(counts()[0]).toBe(index + 1);
      runtime.skip(1);
      await ask(transport);
      expect(counts()[0]).toBe(index + 2);
    }
  });

  it("begins with the first pause again after a success", async () => {
    const first: Play = (_, before) => (before === 2 ? texts("back") : fail(refused())(_, before));
    const { transport, counts } = composed([first, succeed], { pauseMs: 100, maxPauseMs: 1000 });
    await ask(transport); // It rests 100 ms.
    runtime.skip(100);
    await ask(transport); // It rests 200 ms.
    runtime.skip(200);
    expect(await ask(transport)).toBe("back");
    await ask(transport); // It rests 100 ms.
    runtime.skip(100);
    await ask(transport);
    expect(counts()[0]).toBe(5);
  });

  it("has failed once where several calls fail at the same time", async () => {
    const { transport, counts } = composed([fail(refused()), succeed], { pauseMs: 100, maxPauseMs: 1000 });
    await Promise.all([ask(transport), ask(transport), ask(transport)]);
    expect(counts()).toEqual([3, 3]);
    runtime.skip(100);
    await ask(transport);
    expect(counts()).toEqual([4, 4]);
  });

  it("is tried nevertheless, after the others, where they fail too", async () => {
    const first: Play = (call, before) => (before === 0 ? fail(refused())(call, before) : texts("back"));
    const second: Play = (call, before) => (before === 0 ? texts("here") : fail(lost())(call, before));
    const { transport, counts, told } = composed([first, second]);
    expect(await ask(transport)).toBe("here");
    expect(await ask(transport)).toBe("back");
    expect(counts()).toEqual([2, 2]);
    expect(told.map(({ from, to }) => [from, to])).toEqual([
      ["a", "b"],
      ["b", "a"],
    ]);
  });
});

it("a transport that was reached does not rest", async () => {
  const { transport, counts } = composed([fail(thrown(ofNode(Code.Unavailable))), succeed]);
  await ask(transport);
  await ask(transport);
  expect(counts()).toEqual([2, 2]);
});

describe("the time of a call", () => {
  const timesOf = async (
    plays: readonly Play[],
    timeoutMs: number | undefined,
    method = undefined as typeof say | undefined,
  ) => {
    const { transport, inner } = composed(plays);
    await ask(transport, { ...(timeoutMs !== undefined && { timeoutMs }), ...(method && { method }) });
    return inner.flatMap(({ calls }) => calls.map((call) => call.timeoutMs));
  };

  it("is shared: a read leaves half of what it has for the next transports, and the last has all", async () => {
    expect(await timesOf([fail(refused()), fail(refused()), succeed], 1000)).toEqual([500, 500, 1000]);
    expect(await timesOf([succeed], 1000)).toEqual([1000]);
  });

  it("is a whole number of milliseconds, and at least one", async () => {
    expect(await timesOf([fail(refused()), succeed], 5)).toEqual([3, 5]);
    expect(await timesOf([fail(refused()), succeed], 0.2)).toEqual([1, 1]);
  });

  it("is not limited where the call has no limit", async () => {
    expect(await timesOf([fail(refused()), succeed], undefined)).toEqual([undefined, undefined]);
    expect(await timesOf([fail(refused()), succeed], 0)).toEqual([0, 0]);
  });

  it("is whole over each transport where the call does more than read", async () => {
    expect(await timesOf([fail(refused()), succeed], 1000, say)).toEqual([1000, 1000]);
  });

  it("is what is left of the whole call's", async () => {
    const slow: Play = () => {
      runtime.skip(400);
      throw refused();
    };
    const { transport, inner } = composed([slow, succeed, succeed]);
    const whole = limited(transport, { url: "http://node.example", timeouts: { callMs: 1000 }, interceptors: [] });
    await ask(whole);
    expect(inner.map(({ calls }) => calls.map(({ timeoutMs }) => timeoutMs))).toEqual([[500], [300], []]);
  });
});

describe("a stream", () => {
  it("goes on where it fails before its first message, with the same request", async () => {
    const { transport, inner, counts } = composed([() => broken(lost()), () => texts("a", "b")]);
    expect(await listen(transport)).toEqual(["a", "b"]);
    expect(counts()).toEqual([1, 1]);
    const made = inner.flatMap(({ calls }) => calls);
    expect(await Promise.all(made.map(requested))).toEqual([["open"], ["open"]]);
  });

  it("fails where it breaks off after its first message", async () => {
    const reason = lost();
    const { transport, counts, told } = composed([() => broken(reason, "a"), succeed]);
    expect(await reasonOf(listen(transport))).toBe(reason);
    expect(counts()).toEqual([1, 0]);
    expect(told).toEqual([]);
  });
});

describe("a call whose requests stream", () => {
  /** Requests without an end, and how many of them were taken. */
  function endless() {
    const seen = { taken: 0, ended: false };
    async function* requests() {
      try {
        for (;;) {
          seen.taken += 1;
          yield { value: String(seen.taken) };
        }
      } finally {
        seen.ended = true;
      }
    }
    return { seen, requests: requests() };
  }

  /** Take so many requests of a call, as a transport does, and leave the rest. */
  async function takeOf({ requests = raise() }: MadeCall, count: number): Promise<unknown[]> {
    const iterator = requests[Symbol.asyncIterator]();
    const taken: unknown[] = [];
    while (taken.length < count) {
      const { value } = await iterator.next();
      taken.push(Object(value).value);
    }
    return taken;
  }

  function raise(): never {
    throw new Error("the request is missings");
  }

  it.each([join, talk])(
    "$name goes on where there was no connection, with the requests that were taken",
    async (method) => {
      const { seen, requests } = endless();
      const took: unknown[] = [];
      const play =
        (count: number, reason?: ConnectError): Play =>
        async (call) => {
          took.push(await takeOf(call, count));
          if (reason !== undefined) {
            await call.requests?.[Symbol.asyncIterator]().return?.(); // As Connect does where a call fails.
            throw reason;
          }
          return texts("here");
        };
      const { transport, counts, told, inner } = composed([play(2, refused()), play(0, refused()), play(3)]);
      await transport.stream(method, undefined, 70, { "x-own": "1" }, requests);
      expect(counts()).toEqual([1, 1, 1]);
      expect(told.map(({ from, to }) => [from, to])).toEqual([
        ["a", "b"],
        ["b", "c"],
      ]);
      expect(took).toEqual([["1", "2"], [], ["1", "2", "3"]]);
      expect(seen).toEqual({ taken: 3, ended: false });
      expect(inner[2]?.calls[0]).toMatchObject({ method, timeoutMs: 70 });
      expect(inner[2]?.calls[0]?.header.get("x-own")).toBe("1");
      const last = inner[2]?.calls[0] ?? raise();
      expect(await takeOf(last, 2)).toEqual(["4", "5"]);
      await last.requests?.[Symbol.asyncIterator]().return?.();
      expect(seen).toEqual({ taken: 5, ended: true });
    },
  );

  it("gives what one transport still waits for to the next one alone", async () => {
    let send = (_: { value: string }) => {};
    async function* requests() {
      yield await new Promise<{ value: string }>((resolve) => {
        send = resolve;
      });
    }
    let first: Promise<unknown> | undefined;
    const { transport, inner } = composed([
      (call) => {
        first = call.requests?.[Symbol.asyncIterator]().next();
        throw refused();
      },
      succeed,
    ]);
    await transport.stream(talk, undefined, undefined, {}, requests());
    const second = takeOf(inner[1]?.calls[0] ?? raise(), 1);
    send({ value: "one" });
    expect(await second).toEqual(["one"]);
    expect(await first).toEqual({ done: true, value: undefined });
  });

  it.each<[string, TradewireError]>([
    ["the connection was lost", ofConnection(true)],
    ["the node could not serve it", ofNode(Code.Unavailable)],
    ["the node lacks the method", ofNode(Code.Unimplemented)],
  ])("stays where %s: something has left", async (_, error) => {
    const reason = thrown(error);
    const { seen, requests } = endless();
    const { transport, counts } = composed([fail(reason), succeed]);
    expect(await reasonOf(transport.stream(talk, undefined, undefined, {}, requests))).toBe(reason);
    expect(counts()).toEqual([1, 0]);
    expect(seen.taken).toBe(0);
  });

  it("stays where the first transport took more requests than are kept", async () => {
    const { requests } = endless();
    const reason = refused();
    const takes =
      (count: number): Play =>
      async (call) => {
        await takeOf(call, count);
        throw reason;
      };
    const { transport, counts } = composed([takes(101), succeed]);
    expect(await reasonOf(transport.stream(talk, undefined, undefined, {}, requests))).toBe(reason);
    expect(counts()).toEqual([1, 0]);
  });

  it("ends its requests where no transport is left, and fails as its requests do", async () => {
    const { seen, requests } = endless();
    const { transport } = composed([
      async (call) => {
        await takeOf(call, 1);
        throw refused();
      },
    ]);
    await reasonOf(transport.stream(talk, undefined, undefined, {}, requests));
    expect(seen).toEqual({ taken: 1, ended: true });
    async function* failing() {
      yield await Promise.reject(new Error("no paper"));
    }
    const { transport: other } = composed([
      async (call) => {
        await takeOf(call, 1).catch(() => undefined);
        throw refused();
      },
      async (call) => {
        await takeOf(call, 1);
        return texts();
      },
    ]);
    expect(String(await reasonOf(other.stream(talk, undefined, undefined, {}, failing())))).toContain("no paper");
  });
});

it.each(["unary", "stream"] as const)("everything of a %s call reaches the transport", async (kind) => {
  const { transport, inner, starts } = composed([succeed]);
  const { signal } = new AbortController();
  const contextValues = createContextValues();
  const options = { signal, timeoutMs: 70, header: { "x-own": "1" }, contextValues };
  await (kind === "unary" ? ask : listen)(transport, options);
  expect(inner[0]?.calls).toMatchObject([{ signal, timeoutMs: 70, contextValues }]);
  expect(inner[0]?.calls[0]?.header.get("x-own")).toBe("1");
  await ask(transport);
  expect(starts[1]?.id).toBe((starts[0]?.id ?? 0) + 1); // The call keeps its number, and takes no other.
});

it("without a transport, a call is unavailable", async () => {
  const { transport } = composed([]);
  const unavailable = { code: Code.Unavailable, rawMessage: "no transport is available for the call" };
  expect(await reasonOf(ask(transport))).toMatchObject(unavailable);
  expect(await reasonOf(open(transport))).toMatchObject(unavailable);
  async function* none() {}
  expect(await reasonOf(transport.stream(talk, undefined, undefined, undefined, none()))).toMatchObject(unavailable);
});

it("closing closes all transports that can be closed", async () => {
  const { unary, stream } = memoryTransport(succeed);
  const [a, b] = [memoryTransport(succeed), memoryTransport(succeed)];
  const members = [a, { unary, stream }, b].map((transport, index) => ({ name: String(index), transport }));
  await fallback(members).close();
  expect([a.closed(), b.closed()]).toEqual([1, 1]);
});

it("a hook that throws changes no call", async () => {
  using warnings = takeWarnings();
  const onFallback = () => {
    throw new Error("oops");
  };
  const { transport } = composed([fail(refused()), succeed], { hooks: { onFallback } });
  expect(await ask(transport)).toBe("here");
  await turn();
  expect(warnings.told).toEqual([expect.stringContaining("oops")]);
});

it("hooks are optional", async () => {
  const members = [fail(refused()), succeed].map((play, index) => ({
    name: String(index),
    transport: memoryTransport(play),
  }));
  expect(await ask(fallback(members))).toBe("here");
});
