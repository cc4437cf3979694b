import { getEventListeners } from "node:events";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { CanceledError, ConnectionError, OutcomeUnknownError, RequestError } from "tradewire";
import { remainingMs, withTimeout } from "../../../src/trade/transaction/deadline.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../support/virtual-runtime.js";

let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => runtime[Symbol.dispose]());

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: unknown) => reason,
  );
/** Something that ends with `failure` when its signal is aborted, and not before. */
const endless = (failure: (signal: AbortSignal) => unknown) => (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const end = () => reject(failure(signal));
    signal.addEventListener("abort", end);
    if (signal.aborted) {
      end();
    }
  });
const canceled = endless(({ reason }) => new CanceledError({ cause: reason }));

describe("what is done within a time", () => {
  it("has its result, and leaves no timer and no listener", async () => {
    const { signal } = new AbortController();
    const done = withTimeout(50, signal, async () => "done");
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    expect(await done).toBe("done");
    expect(runtime.timers()).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("fails with its own failure before the time is up", async () => {
    const reason = new CanceledError();
    expect(await reasonOf(withTimeout(50, undefined, () => Promise.reject(reason)))).toBe(reason);
    expect(runtime.timers()).toBe(0);
  });

  it("ends when the time is up, and was not sent", async () => {
    const failure = reasonOf(withTimeout(50, undefined, canceled));
    let isOver = false;
    void failure.then(() => {
      isOver = true;
    });
    await runtime.pass(49);
    expect(isOver).toBe(false);
    await runtime.pass(1);
    const error = await failure;
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      summary: "the deadline of 50 ms passed before the transaction was sent",
      code: Code.DeadlineExceeded,
      connected: false,
      cause: { name: "CanceledError", cause: { name: "TimeoutError" } },
    });
  });

  it("ends with a call's own time for it", async () => {
    const late = new ConnectionError("late", { code: Code.DeadlineExceeded, advice: "Look." });
    const failure = reasonOf(
      withTimeout(
        50,
        undefined,
        endless(() => late),
      ),
    );
    await runtime.pass(50);
    expect(await failure).toMatchObject({ connected: false, cause: late });
    expect(await reasonOf(withTimeout(50, undefined, () => Promise.reject(late)))).toBe(late);
  });

  it.each([
    [
      "an unknown outcome",
      new OutcomeUnknownError(
        { txHash: "AB".repeat(32), tid: "t", publicKey: "k", signature: "s" },
        new CanceledError(),
      ),
    ],
    ["a lost connection", new ConnectionError("lost", { code: Code.Unavailable, advice: "Look." })],
    ["any other", new Error("other")],
  ])("keeps %s that comes when the time is up", async (_, error) => {
    const failure = reasonOf(
      withTimeout(
        50,
        undefined,
        endless(() => error),
      ),
    );
    await runtime.pass(50);
    expect(await failure).toBe(error);
  });

  it("ends with the caller's signal, before or during it", async () => {
    const reason = new Error("enough");
    const abort = new AbortController();
    const failure = reasonOf(withTimeout(50, abort.signal, canceled));
    abort.abort(reason);
    expect(await failure).toMatchObject({ name: "CanceledError", cause: reason });
    expect(await reasonOf(withTimeout(50, AbortSignal.abort(reason), canceled))).toMatchObject({
      name: "CanceledError",
      cause: reason,
    });
    expect(runtime.timers()).toBe(0);
  });

  it("is not ended by a signal that was not aborted", async () => {
    const { signal } = new AbortController();
    const aborted = await withTimeout(50, signal, async (given) => given.aborted);
    expect(aborted).toBe(false);
  });
});

describe("the time", () => {
  it.each([0, -1, 1.5, 2 ** 31, Number.NaN])("is no %d milliseconds", async (wrong) => {
    let isBegun = false;
    const act = async () => {
      isBegun = true;
    };
    const error = await reasonOf(withTimeout(wrong, undefined, act));
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({
      summary: expect.stringMatching(/^timeoutMs must be a (whole )?number of milliseconds/),
    });
    expect(isBegun).toBe(false);
  });

  it.each([1, 2 ** 31 - 1])("may be %d milliseconds", async (right) => {
    expect(await withTimeout(right, undefined, async () => "done")).toBe("done");
  });
});

describe("what is left of a time", () => {
  it("is whole milliseconds, at least 1", async () => {
    await runtime.pass(1000);
    const startedAt = runtime.monotonicMs() - 0.5;
    expect(remainingMs(50, startedAt)).toBe(50);
    await runtime.pass(20);
    expect(remainingMs(50, startedAt)).toBe(30);
    await runtime.pass(30);
    expect(remainingMs(50, startedAt)).toBe(1);
    await runtime.pass(30);
    expect(remainingMs(50, startedAt)).toBe(1);
  });

  it.each([0, -1])("is %d milliseconds of as many, which are refused as they are", (wrong) => {
    expect(remainingMs(wrong, runtime.monotonicMs())).toBe(wrong);
  });
});
