import { getEventListeners } from "node:events";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { BannedError, type WaitInfo } from "tradewire";
import { createPace, type Pace } from "tradewire/transport";
import { reasonOf } from "../../../support/memory-transport.js";
import { read } from "../../../support/probe.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../../support/virtual-runtime.js";

let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => runtime[Symbol.dispose]());

/** Let pass some time, and what is to happen then. */
const pass = (ms: number) => runtime.pass(ms);

type Answered = Awaited<ReturnType<Pace["turn"]>>;

/** A pace, the calls that it has let go so far, and the waits that it told. */
function paceOf(callsPerSecond?: number) {
  const waits: Omit<WaitInfo, "id">[] = [];
  const pace = createPace(callsPerSecond, { onWait: ({ id, ...wait }) => waits.push(wait) });
  const sent: Answered[] = [];
  /** Ask for turns. */
  const ask = async (count = 1, signal?: AbortSignal) => {
    const turns = Array.from({ length: count }, () =>
      Promise.resolve(pace.turn(read, signal)).then((answered) => sent.push(answered)),
    );
    for (const turn of turns) {
      turn.catch(() => undefined);
    }
    await pass(0);
    return turns;
  };
  /** Answer the calls that were let go first. */
  const answer = async (reply: Headers | ConnectError, count = 1) => {
    for (const answered of sent.splice(0, count)) {
      answered(reply);
    }
    await pass(0);
  };
  return { pace, waits, sent, ask, answer };
}

/** The headers of a node that lets so many calls a second, and has so many left. */
const limit = (perSecond: number, remaining: number) =>
  new Headers({
    "ratelimit-limit": String(perSecond),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": "1",
  });
const refusal = (seconds: number) =>
  new ConnectError("too many", Code.ResourceExhausted, {
    "ratelimit-limit": "10",
    "ratelimit-remaining": "0",
    "ratelimit-reset": String(seconds),
  });
const ban = (seconds: number) => new ConnectError("banned", Code.PermissionDenied, { "retry-after": String(seconds) });

describe("a pace of one's own", () => {
  it("lets so many calls go in a second, a tenth of them at once", async () => {
    const { ask, answer, sent, waits } = paceOf(50);
    await ask();
    await answer(new Headers());
    await pass(1000);
    await ask(20);
    expect(sent).toHaveLength(5);
    await pass(19);
    expect(sent).toHaveLength(5);
    await pass(1);
    expect(sent).toHaveLength(6);
    await pass(200);
    expect(sent).toHaveLength(16);
    await pass(1000);
    expect(sent).toHaveLength(20);
    expect(waits).toHaveLength(15);
    expect(waits[0]).toEqual({ method: "test.Probe/Read", waitMs: 20, reason: "limits.callsPerSecond" });
    // Who comes later waits for those who came before.
    expect(waits[9]?.waitMs).toBe(200);
  });

  it("is kept by calls that come one by one", async () => {
    const { ask, sent, waits } = paceOf(10);
    await ask();
    await ask();
    expect(sent).toHaveLength(1);
    await pass(100);
    expect(sent).toHaveLength(2);
    expect(waits.map(({ waitMs }) => waitMs)).toEqual([100]);
  });

  it("is the reason of a wait where it is longer than the node's", async () => {
    const { ask, answer, waits } = paceOf(20);
    await ask();
    await answer(limit(100, 0)); // The next one in 10 ms, by one's own pace at once.
    await ask();
    await pass(10);
    await ask(); // The next one in 10 ms, by one's own pace in 40.
    expect(waits).toEqual([
      { method: "test.Probe/Read", waitMs: 10, reason: "the server's rate limit" },
      { method: "test.Probe/Read", waitMs: 40, reason: "limits.callsPerSecond" },
    ]);
  });

  it("is not the reason of a wait that is as long as the node's", async () => {
    const { ask, answer, waits } = paceOf(10);
    await ask();
    await answer(limit(10, 0));
    await ask();
    expect(waits).toEqual([{ method: "test.Probe/Read", waitMs: 100, reason: "the server's rate limit" }]);
  });

  it("needs no hooks", async () => {
    const pace = createPace(10);
    await pace.turn(read, undefined);
    const second = pace.turn(read, undefined);
    await pass(100);
    expect(await second).toEqual(expect.any(Function));
  });

  it.each([
    [100, "limits.callsPerSecond", 100],
    [10, "limits.callsPerSecond", 100],
    [5, "the server's rate limit", 200],
  ])("behind others is the reason where it is not faster than the node's %d", async (nodes, reason, waitMs) => {
    const { ask, answer, waits } = paceOf(10);
    await ask();
    await answer(limit(nodes, nodes));
    await ask();
    // The timer is late: the time of the one that waits has come, but it has not gone.
    runtime.skip(100);
    await ask();
    expect(waits[1]).toEqual({ method: "test.Probe/Read", waitMs, reason });
  });
});

describe("without a limit", () => {
  it("all calls go at once where the node's answers name none", async () => {
    const { ask, answer, sent, waits } = paceOf();
    await ask();
    await answer(new Headers());
    await ask(500);
    expect(sent).toHaveLength(500);
    await pass(60_000);
    await ask(10);
    expect(sent).toHaveLength(510);
    expect(waits).toEqual([]);
  });

  it("ten calls go before the first answer", async () => {
    const { ask, answer, sent, waits } = paceOf();
    await ask(15);
    expect(sent).toHaveLength(10);
    await answer(new Headers());
    expect(sent).toHaveLength(14);
    expect(waits).toEqual([]); // How long the wait takes is not known.
  });

  it("ten more go each fifth of a second while no answer comes, up to the hundred that a node takes at once", async () => {
    const { ask, answer, sent, waits } = paceOf();
    await ask(150);
    expect(sent).toHaveLength(10);
    await pass(199);
    expect(sent).toHaveLength(10);
    await pass(1);
    expect(sent).toHaveLength(20);
    await pass(600);
    expect(sent).toHaveLength(50);
    await pass(60_000);
    expect(sent).toHaveLength(100);
    await answer(new Headers());
    expect(sent).toHaveLength(149);
    expect(waits).toEqual([]);
  });

  it("a failure without an answer tells nothing, and makes room for another call", async () => {
    const { ask, answer, sent } = paceOf();
    await ask(15);
    await answer(new ConnectError("no connection", Code.Unavailable), 2);
    expect(sent).toHaveLength(10);
    await answer(new ConnectError("no", Code.NotFound, { "grpc-status": "5" }));
    expect(sent).toHaveLength(12);
  });
});

describe("the node's limit", () => {
  it("lets what it has left go, and then so many a second", async () => {
    const { ask, answer, sent, waits } = paceOf();
    await ask();
    await answer(limit(20, 8));
    await ask(12);
    expect(sent).toHaveLength(8);
    expect(waits.map(({ reason, waitMs }) => [reason, waitMs])).toEqual([
      ["the server's rate limit", 50],
      ["the server's rate limit", 100],
      ["the server's rate limit", 150],
      ["the server's rate limit", 200],
    ]);
    await pass(50);
    expect(sent).toHaveLength(9);
    await answer(limit(20, 0)); // The eight that are not answered may take more than there is.
    await pass(50);
    expect(sent).toHaveLength(8);
  });

  it("is known with the first answer: more may be left than a second adds", async () => {
    const { ask, answer, sent } = paceOf();
    await ask();
    await answer(limit(10, 30));
    await ask(40);
    expect(sent).toHaveLength(30);
  });

  it("counts the calls that are under way as taken", async () => {
    const { ask, answer, sent } = paceOf();
    await ask(4);
    await answer(limit(10, 6)); // Three are not answered yet.
    await ask(10);
    expect(sent).toHaveLength(3 + 3);
  });

  it("is raised only by answers to calls that were alone", async () => {
    const { ask, answer, sent } = paceOf();
    await ask();
    await answer(limit(10, 2));
    await ask(2);
    await ask(5);
    await answer(limit(10, 9)); // It may be older than the other call.
    expect(sent).toHaveLength(1);
    await answer(limit(10, 9));
    expect(sent).toHaveLength(0);
    await pass(100);
    expect(sent).toHaveLength(1);
    await answer(limit(10, 9));
    expect(sent).toHaveLength(4);
  });

  it("is raised by an answer to a call that was alone", async () => {
    const { ask, answer, sent } = paceOf();
    await ask();
    await answer(limit(10, 1));
    await ask();
    await answer(limit(10, 30));
    await ask(40);
    expect(sent).toHaveLength(30);
  });

  it("holds back where no answer has come for a second, with ten calls under way", async () => {
    const { ask, answer, sent } = paceOf();
    await ask();
    await answer(limit(100, 100));
    await ask(20);
    expect(sent).toHaveLength(20);
    await pass(999);
    await ask();
    expect(sent).toHaveLength(21);
    await pass(1);
    await ask();
    expect(sent).toHaveLength(21);
    await pass(60_000);
    expect(sent).toHaveLength(21);
    await answer(limit(100, 100));
    expect(sent).toHaveLength(21);
  });
});

describe("a refusal", () => {
  it("stops all calls until the reset that it names", async () => {
    const { ask, answer, sent, waits } = paceOf();
    await ask(2);
    await answer(refusal(3));
    await ask();
    expect(sent).toHaveLength(1);
    expect(waits).toEqual([{ method: "test.Probe/Read", waitMs: 3000, reason: "the server refused a call" }]);
    await pass(2999);
    expect(sent).toHaveLength(1);
    await pass(1);
    expect(sent).toHaveLength(2);
  });

  it("holds, whatever calls that were sent before are answered", async () => {
    const { ask, answer, sent } = paceOf();
    await ask(3);
    await answer(refusal(3));
    await answer(new Headers());
    await answer(new ConnectError("no", Code.NotFound, { "grpc-status": "5" }));
    await ask();
    await pass(2999);
    expect(sent).toEqual([]);
    await pass(1);
    expect(sent).toHaveLength(1);
  });

  it("of another kind stops nothing", async () => {
    const { ask, answer, sent, waits } = paceOf();
    await ask();
    await answer(new ConnectError("too many streams", Code.ResourceExhausted, limit(10, 5)));
    await ask();
    expect(sent).toHaveLength(1);
    expect(waits).toEqual([]);
  });
});

describe("a ban", () => {
  it("fails the calls that wait, and later ones until its end", async () => {
    const { ask, answer, pace, sent } = paceOf(10);
    const [, waiting] = await ask(2);
    const reason = ban(60);
    await answer(reason);
    const failure = await reasonOf(Promise.resolve(waiting));
    expect(failure).toMatchObject({ code: Code.PermissionDenied });
    const { cause } = failure as ConnectError;
    expect(cause).toBeInstanceOf(BannedError);
    expect(cause).toMatchObject({ until: new Date("2030-01-01T00:01:00Z"), cause: reason });
    expect(sent).toEqual([]);

    await pass(59_999);
    expect(() => pace.checkOpen()).toThrow("banned this address for too many calls, until 2030-01-01T00:01:00.000Z");
    expect(await reasonOf(Promise.resolve(pace.turn(read, undefined)))).toMatchObject({ code: Code.PermissionDenied });
    await pass(1);
    expect(() => pace.checkOpen()).not.toThrow();
    await ask();
    expect(sent).toHaveLength(1);
  });
});

describe("a call that waits", () => {
  it("leaves with its signal, and others move up", async () => {
    const { ask, sent } = paceOf(10);
    await ask();
    const abort = new AbortController();
    const [left] = await ask(1, abort.signal);
    await ask();
    const reason = new Error("enough");
    abort.abort(reason);
    expect(await reasonOf(Promise.resolve(left))).toBe(reason);
    await pass(100);
    expect(sent).toHaveLength(2);
  });

  it("is not begun with a signal that was aborted", async () => {
    const { pace } = paceOf();
    const reason = new Error("enough");
    expect(await reasonOf(Promise.resolve(pace.turn(read, AbortSignal.abort(reason))))).toBe(reason);
  });

  it.each(["goes", "fails"])("no longer listens to its signal when it %s", async (how) => {
    const { ask, sent, pace } = paceOf(10);
    await ask();
    const { signal } = new AbortController();
    await ask(1, signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    if (how === "goes") {
      await pass(100);
      expect(sent).toHaveLength(2);
    } else {
      pace.close();
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("goes in the order in which it came, behind those that wait already", async () => {
    const { pace, ask } = paceOf(10);
    await ask();
    const order: number[] = [];
    for (const index of [1, 2, 3]) {
      void Promise.resolve(pace.turn(read, undefined)).then(() => order.push(index));
    }
    await pass(100);
    expect(order).toEqual([1]);
    await pass(200);
    expect(order).toEqual([1, 2, 3]);
  });
});

describe("a pace that is closed", () => {
  it("fails the calls that wait, and later ones", async () => {
    const { ask, pace } = paceOf(10);
    const [, waiting] = await ask(2);
    pace.close();
    const closed = { code: Code.Canceled, rawMessage: "the transport is closed" };
    expect(await reasonOf(Promise.resolve(waiting))).toMatchObject(closed);
    expect(await reasonOf(Promise.resolve(pace.turn(read, undefined)))).toMatchObject(closed);
    expect(() => pace.checkOpen()).toThrow("the transport is closed");
    expect(runtime.timers()).toBe(0);
  });
});
