import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import {
  type CallInfo,
  type Config,
  ConnectionError,
  NodeError,
  ProtocolError,
  type RetryInfo,
  type TradewireError,
} from "tradewire";
import { limited, retrying, withHooks } from "tradewire/transport";
import {
  type Answer,
  ask,
  broken,
  listen,
  type MadeCall,
  memoryTransport,
  reasonOf,
  requested,
  texts,
  thrown,
} from "../../../support/memory-transport.js";
import { join, say, talk } from "../../../support/probe.js";
import { given } from "../../../support/taken.js";
import { useVirtualRuntime } from "../../../support/virtual-runtime.js";

const ofNode = (code: Code) => new NodeError({ code, message: "not now", details: [] });
const lost = (code = Code.Unavailable) => new ConnectionError("lost", { code, advice: "Look." });
const busy = (retryAfter?: string) =>
  thrown(ofNode(Code.Unavailable), retryAfter === undefined ? {} : { "retry-after": retryAfter });

/** A transport that retries, and what it was seen to do. `onRetry` is called after a retry was noted. */
function retriedTransport(
  answer: (call: MadeCall, before: number) => Answer,
  { onRetry, ...config }: Partial<Config["retry"]> & { onRetry?: () => void } = {},
) {
  const retries: RetryInfo[] = [];
  const hooks = {
    onRetry(retry: RetryInfo) {
      retries.push(retry);
      onRetry?.();
    },
  };
  const inner = memoryTransport(answer);
  const retried = retrying(inner, { tries: 3, baseMs: 0, maxMs: 0, ...config }, hooks);
  const transport = limited(retried, { url: "http://node.example", timeouts: { callMs: 60_000 } });
  return { transport, calls: inner.calls, retries };
}

/** A transport that does nothing but retry, after 2 seconds. */
function bareRetries(answer: (call: MadeCall, before: number) => Answer) {
  const retries: RetryInfo[] = [];
  const inner = memoryTransport(answer);
  const options = { tries: 3, baseMs: 2000, maxMs: 2000 };
  return {
    transport: retrying(inner, options, { onRetry: (retry) => void retries.push(retry) }),
    calls: inner.calls,
    retries,
  };
}

const failing = (reason: unknown) => () => {
  throw reason;
};

describe("a call that only reads", () => {
  it.each<[string, TradewireError]>([
    ["the node is unavailable", ofNode(Code.Unavailable)],
    ["the node has run out of something", ofNode(Code.ResourceExhausted)],
    ["the connection was lost", lost()],
    ["the server reset the stream", lost(Code.Internal)],
  ])("is tried as often as configured where %s, and its last failure passes unchanged", async (_, error) => {
    const reasons = [thrown(error), thrown(error), thrown(error), thrown(error)];
    const { transport, calls } = retriedTransport((_call, before) => failing(reasons[before])(), { tries: 4 });
    expect(await reasonOf(ask(transport))).toBe(reasons[3]);
    expect(calls).toHaveLength(4);
  });

  it.each<[string, unknown]>([
    ["the node refuses it", thrown(ofNode(Code.InvalidArgument))],
    ["the node is broken", thrown(ofNode(Code.Internal))],
    ["its time was up", thrown(lost(Code.DeadlineExceeded))],
    ["the answer is broken", thrown(new ProtocolError("odd", { code: Code.Unavailable, advice: "Look." }))],
    ["nobody knows the failure", new ConnectError("odd", Code.Unavailable)],
  ])("is tried once where %s", async (_, reason) => {
    const { transport, calls, retries } = retriedTransport(failing(reason));
    expect(await reasonOf(ask(transport))).toBe(reason);
    expect(calls).toHaveLength(1);
    expect(retries).toEqual([]);
  });

  it("is answered by the first try that succeeds", async () => {
    const { transport, calls } = retriedTransport((_, before) => (before === 1 ? texts("here") : failing(busy())()));
    expect(await ask(transport)).toBe("here");
    expect(calls).toHaveLength(2);
  });

  it("is told of at each retry", async () => {
    const reasons = [busy(), thrown(lost())];
    const { transport, retries } = retriedTransport((_, before) =>
      before < 2 ? failing(reasons[before])() : texts("here"),
    );
    const starts: CallInfo[] = [];
    const endpoint = { name: "rest", url: "http://node.example" };
    await ask(withHooks(transport, endpoint, { onCallStart: (call) => starts.push(call) }));
    const [start] = starts;
    const common = { id: start?.id, method: "test.Probe/Read", delayMs: 0 };
    expect(retries).toEqual([
      { ...common, attempt: 1, error: reasons[0]?.cause },
      { ...common, attempt: 2, error: reasons[1]?.cause },
    ]);
  });
});

it("end with their own time where no layer around them limits it", async () => {
  using runtime = useVirtualRuntime();
  const { transport, calls, retries } = bareRetries(failing(busy()));
  const failed = reasonOf(ask(transport, { timeoutMs: 300 }));
  await runtime.pass(300);
  expect(await failed).toMatchObject({ code: Code.Unavailable });
  expect([calls.length, retries.length]).toEqual([1, 1]);
});

it("give each attempt what remains of the time", async () => {
  using runtime = useVirtualRuntime();
  const { transport, calls } = bareRetries((_, before) => (before === 0 ? failing(busy("1"))() : texts("here")));
  const answered = ask(transport, { timeoutMs: 3000 });
  await runtime.pass(1000);
  expect(await answered).toBe("here");
  expect(calls.map(({ timeoutMs }) => timeoutMs)).toEqual([3000, 2000]);
});

it("hooks are optional", async () => {
  const inner = memoryTransport((_, before) => (before === 0 ? failing(busy())() : texts("here")));
  const retried = retrying(inner, { tries: 2, baseMs: 0, maxMs: 0 });
  expect(await ask(limited(retried, { url: "http://node.example", timeouts: { callMs: 60_000 } }))).toBe("here");
});

describe("a call that does more than read", () => {
  it("is not made again once it was sent", async () => {
    for (const reason of [busy(), thrown(lost())]) {
      const { transport, calls } = retriedTransport(failing(reason));
      expect(await reasonOf(ask(transport, { method: say }))).toBe(reason);
      expect(calls).toHaveLength(1);
    }
  });

  it("is made again if nothing of it was sent", async () => {
    const unsent = new ConnectionError("refused", { code: Code.Unavailable, advice: "Look.", connected: false });
    const { transport, calls } = retriedTransport((_, before) =>
      before === 1 ? texts("here") : failing(thrown(unsent))(),
    );
    expect(await ask(transport, { method: say })).toBe("here");
    expect(calls).toHaveLength(2);
  });

  it("is made again if its definition says that it is idempotent, or the configuration names its method", async () => {
    const idempotent = { ...say, idempotency: MethodOptions_IdempotencyLevel.IDEMPOTENT };
    const byDefinition = retriedTransport(failing(busy()));
    await reasonOf(ask(byDefinition.transport, { method: idempotent }));
    expect(byDefinition.calls).toHaveLength(3);
    const byName = retriedTransport(failing(busy()), { methods: ["test.Probe/Say"] });
    await reasonOf(ask(byName.transport, { method: say }));
    expect(byName.calls).toHaveLength(3);
  });
});

describe("the retry budget", () => {
  it("allows retries while more than half of its tokens are there", async () => {
    const { transport, calls } = retriedTransport(failing(busy()), { tries: 2, maxTokens: 10 });
    for (let call = 0; call < 20; call += 1) {
      await reasonOf(ask(transport));
    }
    // The first two calls take four tokens, and the third finds the sixth and fails at the fifth.
    expect(calls).toHaveLength(20 + 2);
  });

  it("lets a node where half the calls fail get at most 1.1 times the calls, by default", async () => {
    const { transport, calls } = retriedTransport((_, before) =>
      before % 2 === 0 ? failing(busy())() : texts("here"),
    );
    for (let call = 0; call < 1000; call += 1) {
      await (call % 2 === 0 ? ask(transport) : listen(transport)).catch(() => undefined);
    }
    expect(calls.length).toBeLessThanOrEqual(1100);
    expect(calls.length).toBeGreaterThan(1000);
  });

  it("gets a part of a token from each call that succeeds, up to its maximum, and from nothing else", async () => {
    let isBusy = true;
    const { transport, calls } = retriedTransport(() => (isBusy ? failing(busy())() : texts("here")), {
      tries: 2,
      maxTokens: 4,
      tokenRatio: 0.5,
    });
    /** Returns how many attempts some calls take, one after the other. */
    const attempts = async (count: number, areBusy: boolean) => {
      isBusy = areBusy;
      const before = calls.length;
      for (let call = 0; call < count; call += 1) {
        await ask(transport).catch(() => undefined);
      }
      return calls.length - before;
    };
    expect(await attempts(10, true)).toBe(11); // No token is left, but the bucket has no debts.
    expect(await attempts(6, false)).toBe(6);
    expect(await attempts(1, true)).toBe(1); // Of three tokens, two are left: no more than half.
    expect(await attempts(3, false)).toBe(3);
    expect(await attempts(1, true)).toBe(2); // Of three and a half.
    expect(await attempts(100, false)).toBe(100);
    expect(await attempts(2, true)).toBe(3); // As at the start.
  });

  it("is not for failures that a retry cannot mend, nor for calls that were not sent", async () => {
    const unsent = thrown(
      new ConnectionError("refused", { code: Code.Unavailable, advice: "Look.", connected: false }),
    );
    const reasons = [...Array<unknown>(20).fill(unsent), ...Array<unknown>(20).fill(thrown(ofNode(Code.NotFound)))];
    const { transport, calls } = retriedTransport((_, before) => failing(reasons[before] ?? busy())(), {
      tries: 2,
      maxTokens: 3,
    });
    for (let call = 0; call < 30; call += 1) {
      await reasonOf(ask(transport));
    }
    expect(calls).toHaveLength(40);
    await reasonOf(ask(transport));
    expect(calls).toHaveLength(42); // Of three tokens, two are more than half.
  });
});

describe("grpc-retry-pushback-ms", () => {
  const pushback = (value: string) => thrown(ofNode(Code.Unavailable), { "grpc-retry-pushback-ms": value });

  it("is the wait before the retry", async () => {
    const { transport, retries } = retriedTransport(failing(pushback("3")), { tries: 2, baseMs: 40 });
    await reasonOf(ask(transport));
    expect(retries.map((retry) => retry.delayMs)).toEqual([3]);
  });

  it.each(["-1", "soon", "", "1.5"])("of %j asks for no retry", async (value) => {
    const { transport, calls } = retriedTransport(failing(pushback(value)));
    await reasonOf(ask(transport));
    expect(calls).toHaveLength(1);
  });
});

it.each([join, talk])(
  "a call whose requests stream is never made again, even if it only reads ($name)",
  async (method) => {
    const { transport, calls } = retriedTransport(failing(busy()));
    const reading = { ...method, idempotency: MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS };
    await reasonOf(transport.stream(reading, undefined, undefined, undefined, given([{ value: "a" }])));
    expect(calls).toHaveLength(1);
  },
);

describe("a stream", () => {
  it("is opened again, with the same request, where it fails before its first message", async () => {
    const { transport, calls } = retriedTransport((_, before) => {
      if (before === 0) {
        throw busy();
      }
      return before === 1 ? broken(busy()) : texts("a", "b");
    });
    expect(await listen(transport)).toEqual(["a", "b"]);
    expect(await Promise.all(calls.map(requested))).toEqual([["open"], ["open"], ["open"]]);
  });

  it("is not opened again after its first message", async () => {
    const reason = busy();
    const { transport, calls } = retriedTransport(() => broken(reason, "a"));
    expect(await reasonOf(listen(transport))).toBe(reason);
    expect(calls).toHaveLength(1);
  });
});

describe("the wait", () => {
  it.each([
    [0.999999, [1, 2, 4, 5, 5]],
    [0.5, [0.5, 1, 2, 2.5, 2.5]],
    [0, [0, 0, 0, 0, 0]],
  ])("is a random part (%d) of a time that doubles up to the longest", async (random, expected) => {
    using runtime = useVirtualRuntime();
    runtime.nextFractions(random, random, random, random, random);
    const { transport, retries } = retriedTransport(failing(busy()), { tries: 6, baseMs: 1000, maxMs: 5000 });
    await runtime.until(reasonOf(ask(transport)));
    expect(retries.map(({ delayMs }) => Number((delayMs / 1000).toFixed(3)))).toEqual(expected);
  });

  it("comes before the next try", async () => {
    using runtime = useVirtualRuntime();
    runtime.nextFractions(0.5);
    const { transport, calls } = retriedTransport(failing(busy()), { tries: 2, baseMs: 2000, maxMs: 2000 });
    const failure = reasonOf(ask(transport));
    await runtime.pass(999);
    expect(calls).toHaveLength(1);
    await runtime.pass(1);
    expect(calls).toHaveLength(2);
    await failure;
  });
});

describe("retry-after", () => {
  const unixMs = Date.parse("2030-01-01T00:00:00Z");

  it.each<[string, number]>([
    ["0", 0],
    ["7", 7000],
    ["600", 600_000],
    ["Tue, 01 Jan 2030 00:00:09 GMT", 9000],
    ["Mon, 31 Dec 2029 23:59:00 GMT", 0],
  ])("%s counts before the time of one's own", async (value, delayMs) => {
    using _ = useVirtualRuntime({ unixMs });
    const abort = new AbortController();
    const { transport, retries } = retriedTransport(failing(busy(value)), {
      tries: 2,
      baseMs: 40,
      onRetry: () => abort.abort(),
    });
    await reasonOf(ask(transport, { signal: abort.signal, timeoutMs: 0 }));
    expect(retries.map((retry) => retry.delayMs)).toEqual([delayMs]);
  });

  it.each(["601", "999999999", "1234567890", "9".repeat(400), "Tue, 01 Jan 2060 00:00:00 GMT"])(
    "of more than ten minutes (%s) ends the tries, though the call has no time limit",
    async (value) => {
      using _ = useVirtualRuntime({ unixMs });
      const reason = busy(value);
      const { transport, calls, retries } = retriedTransport(failing(reason), { tries: 2 });
      expect(await reasonOf(ask(transport, { timeoutMs: 0 }))).toBe(reason);
      expect(calls).toHaveLength(1);
      expect(retries).toEqual([]);
    },
  );

  it.each(["soon", "7s", "2 minutes", "1.5", "-5", "2029-12-31", ""])(
    "of no such form (%j) does not",
    async (value) => {
      using runtime = useVirtualRuntime({ unixMs });
      runtime.nextFractions(0.5);
      const { transport, retries } = retriedTransport(failing(busy(value)), { tries: 2, baseMs: 2, maxMs: 2 });
      await runtime.until(reasonOf(ask(transport)));
      expect(retries.map((retry) => retry.delayMs)).toEqual([1]);
    },
  );
});

describe("the time for the call", () => {
  it.each([
    ["5", 5000],
    ["5", 4000],
  ])("ends the tries where the node asks for %s s, and %d ms are left", async (asked, timeoutMs) => {
    using _ = useVirtualRuntime();
    const reason = busy(asked);
    const { transport, calls, retries } = retriedTransport(failing(reason));
    expect(await reasonOf(ask(transport, { timeoutMs }))).toBe(reason);
    expect(calls).toHaveLength(1);
    expect(retries).toEqual([]);
  });

  it("allows a wait within it", async () => {
    const abort = new AbortController();
    const { transport, retries } = retriedTransport(failing(busy("5")), { onRetry: () => abort.abort() });
    await reasonOf(ask(transport, { timeoutMs: 5500, signal: abort.signal }));
    expect(retries).toHaveLength(1);
  });
});

describe("a caller that gives up", () => {
  it("during a try gets no other", async () => {
    const abort = new AbortController();
    const { transport, calls, retries } = retriedTransport(() => {
      abort.abort();
      throw busy();
    });
    await reasonOf(ask(transport, { signal: abort.signal }));
    await new Promise(setImmediate);
    expect(calls).toHaveLength(1);
    expect(retries).toEqual([]);
  });

  it("during a wait gets no other try", async () => {
    const abort = new AbortController();
    const { transport, calls } = retriedTransport(failing(busy("1000")), {
      onRetry: () => setImmediate(() => abort.abort()),
    });
    await reasonOf(ask(transport, { signal: abort.signal, timeoutMs: 0 }));
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(calls).toHaveLength(1);
  });
});
