import { getEventListeners } from "node:events";
import { describe, expect, it } from "@jest/globals";
import { CanceledError } from "tradewire";
import { raceAbort } from "../../../src/base/signal/abort.js";

const never = () => new Promise<never>(() => undefined);
const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: unknown) => reason,
  );

describe("the wait for a promise", () => {
  it("has its value or its failure, with a signal and without", async () => {
    const reason = new Error("no");
    for (const signal of [undefined, new AbortController().signal]) {
      expect(await raceAbort(Promise.resolve(7), signal)).toBe(7);
      expect(await raceAbort(8, signal)).toBe(8);
      expect(await reasonOf(raceAbort(Promise.reject(reason), signal))).toBe(reason);
    }
  });

  it("ends with the signal", async () => {
    const abort = new AbortController();
    const failure = reasonOf(raceAbort(never(), abort.signal));
    const cause = new Error("enough");
    abort.abort(cause);
    const reason = await failure;
    expect(reason).toBeInstanceOf(CanceledError);
    expect(reason).toMatchObject({ cause });
  });

  it("does not begin with a signal that was aborted, whatever the promise has", async () => {
    const cause = new Error("enough");
    for (const promise of [never(), Promise.resolve(7)]) {
      expect(await reasonOf(raceAbort(promise, AbortSignal.abort(cause)))).toMatchObject({
        name: "CanceledError",
        cause,
      });
    }
  });

  it("no longer listens to the signal when it is over", async () => {
    const abort = new AbortController();
    const waiting = raceAbort(Promise.resolve(7), abort.signal);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(1);
    await waiting;
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });
});
