import { getEventListeners } from "node:events";
import { describe, expect, it } from "@jest/globals";
import { CanceledError } from "tradewire";
import { abortable } from "../../../src/data/zip/byte-reader.js";
import { given, taken } from "../../support/taken.js";

const never = () => new Promise<never>(() => undefined);

/** An iterator without an end, which counts how often it was closed. */
function counted(next: () => Promise<IteratorResult<number>>) {
  const counts = { asked: 0, closed: 0 };
  const source = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        counts.asked += 1;
        return next();
      },
      return: async () => {
        counts.closed += 1;
        return { done: true, value: undefined };
      },
    }),
  };
  return { counts, source };
}

describe("what can be aborted", () => {
  it("gives the values of its source in their order, and its end", async () => {
    for (const signal of [undefined, new AbortController().signal]) {
      expect(await taken(abortable(given([1, 2, 3]), signal))).toEqual({ values: [1, 2, 3], error: undefined });
      const values = abortable(given([1]), signal);
      expect(await values.next()).toEqual({ done: false, value: 1 });
      expect(await values.next()).toEqual({ done: true, value: undefined });
      expect(await values.return?.()).toEqual({ done: true, value: undefined });
    }
  });

  it("throws the error of its source unchanged, and does not close what has failed", async () => {
    const broken = new Error("broken");
    const { counts, source } = counted(() => Promise.reject(broken));
    for (const signal of [undefined, new AbortController().signal]) {
      await expect(abortable(source, signal).next()).rejects.toBe(broken);
    }
    expect(counts).toEqual({ asked: 2, closed: 0 });
  });

  it("does not ask its source where the signal is aborted already, and closes it", async () => {
    const { counts, source } = counted(async () => ({ done: false, value: 1 }));
    const next = abortable(source, AbortSignal.abort("enough")).next();
    await expect(next).rejects.toBeInstanceOf(CanceledError);
    await expect(next).rejects.toMatchObject({ cause: "enough" });
    expect(counts).toEqual({ asked: 0, closed: 1 });
  });

  it("leaves a source that is silent, and closes it", async () => {
    const { counts, source } = counted(never);
    const controller = new AbortController();
    const next = abortable(source, controller.signal).next();
    controller.abort("enough");
    await expect(next).rejects.toBeInstanceOf(CanceledError);
    await expect(next).rejects.toMatchObject({ cause: "enough" });
    expect(counts).toEqual({ asked: 1, closed: 1 });
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  it("leaves a source that aborts the signal itself, and then is silent", async () => {
    const controller = new AbortController();
    const { counts, source } = counted(() => {
      controller.abort("enough");
      return never();
    });
    await expect(abortable(source, controller.signal).next()).rejects.toMatchObject({ cause: "enough" });
    expect(counts).toEqual({ asked: 1, closed: 1 });
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  it("leaves no listener behind", async () => {
    const { signal } = new AbortController();
    const values = abortable(given([1, 2]), signal);
    await values.next();
    await new Promise(setImmediate);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await taken(values);
    await new Promise(setImmediate);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("waits for the closing of a source that can be closed", async () => {
    let closed = false;
    async function* source() {
      try {
        yield 1;
        yield 2;
      } finally {
        await new Promise(setImmediate);
        closed = true;
      }
    }
    const values = abortable(source(), undefined);
    await values.next();
    expect(await values.return?.()).toEqual({ done: true, value: undefined });
    expect(closed).toBe(true);
  });

  it("does not wait for the closing of a source that is silent", async () => {
    const values = abortable(given([1], never), undefined);
    await values.next();
    void values.next().catch(() => undefined);
    const waiting = new Promise((resolve) => setImmediate(resolve, "it waits"));
    expect(await Promise.race([values.return(), waiting])).toEqual({ done: true, value: undefined });
  });

  it("waits for the closing of a source that has failed", async () => {
    let closed = false;
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(new Error("failed")),
        async return() {
          await new Promise(setImmediate);
          closed = true;
          return { done: true as const, value: undefined };
        },
      }),
    };
    const values = abortable(source, undefined);
    await expect(values.next()).rejects.toThrow("failed");
    await values.return();
    expect(closed).toBe(true);
  });

  it("ends without the value that its source returns", async () => {
    async function* source() {
      yield 1;
      return 2;
    }
    const values = abortable(source(), undefined);
    await values.next();
    expect(await values.next()).toEqual({ done: true, value: undefined });
  });

  it("passes over what fails in the closing, and needs no closing", async () => {
    async function* failing() {
      try {
        yield 1;
      } finally {
        await Promise.reject(new Error("cannot be closed"));
      }
    }
    const values = abortable(failing(), undefined);
    await values.next();
    expect(await values.return?.()).toEqual({ done: true, value: undefined });
    const plain = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: 1 }) }) };
    expect(await abortable(plain, undefined).return?.()).toEqual({ done: true, value: undefined });
  });
});
