import { describe, expect, it } from "@jest/globals";
import { mapStreamErrors } from "../../../src/base/errors/call-errors.js";
import { given, taken } from "../../support/taken.js";

const broken = new Error("broken");
const ours = new Error("ours");

function fail(reason: unknown): never {
  throw reason === broken ? ours : reason;
}

/** Values without an end, which count how often they were closed; closing them fails with `closing`, if given. */
function counted(next: () => Promise<IteratorResult<number>>, closing?: Error) {
  const counts = { asked: 0, closed: 0 };
  const iterator = {
    next: () => {
      counts.asked += 1;
      return next();
    },
    async return() {
      counts.closed += 1;
      if (closing !== undefined) {
        throw closing;
      }
      return { done: true, value: undefined } as const;
    },
  };
  return { counts, values: { [Symbol.asyncIterator]: () => iterator } };
}

const endless = async () => ({ done: false, value: 1 });

describe("values that fail with another error", () => {
  it("are those of their source, and its error is told in other words", async () => {
    expect(await taken(mapStreamErrors(given([1, 2]), fail))).toEqual({ values: [1, 2], error: undefined });
    const failing = given([1, 2], () => Promise.reject(broken));
    expect(await taken(mapStreamErrors(failing, fail))).toEqual({ values: [1, 2], error: ours });
  });

  it("end behind an error, and ask their source for no more", async () => {
    const { counts, values } = counted(() => Promise.reject(broken));
    const iterator = mapStreamErrors(values, fail)[Symbol.asyncIterator]();
    await expect(iterator.next()).rejects.toBe(ours);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(counts).toEqual({ asked: 1, closed: 0 });
  });

  it("close their source when the reader leaves, without waiting for what was asked for last", async () => {
    const { counts, values } = counted(() => new Promise(() => undefined));
    const iterator = mapStreamErrors(values, fail)[Symbol.asyncIterator]();
    void iterator.next();
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(counts).toEqual({ asked: 1, closed: 1 });
  });

  it("fail in other words also where their source cannot be closed", async () => {
    const { counts, values } = counted(endless, broken);
    const leave = async () => {
      for await (const _ of mapStreamErrors(values, fail)) {
        return;
      }
    };
    await expect(leave()).rejects.toBe(ours);
    expect(counts).toEqual({ asked: 1, closed: 1 });
  });
});
