import { describe, expect, test } from "@jest/globals";
import { readAhead } from "../../../src/trade/live/read-ahead.js";
import { take } from "../../support/event-server.js";
import { standsStill } from "../../support/eventually.js";

describe("reading ahead", () => {
  const numbers = (asked: { count: number }, batch = 1) =>
    async function* () {
      for (;;) {
        asked.count += 1;
        yield Array.from({ length: batch }, (_, at) => ({ number: (asked.count - 1) * batch + at }));
      }
    };

  test("asks for no more than may wait", async () => {
    const asked = { count: 0 };
    const values = readAhead(numbers(asked), { maxWaiting: 10, signal: undefined })[Symbol.asyncIterator]();
    expect(asked.count).toBe(0);
    expect((await values.next()).value).toEqual({ number: 0 });
    await standsStill(() => asked.count);
    expect(asked.count).toBe(11);
    for (let number = 1; number <= 12; number += 1) {
      expect((await values.next()).value).toEqual({ number });
      await standsStill(() => asked.count);
      expect(asked.count).toBe(number + 11);
    }
    await values.return?.();
  });

  test("takes a batch as a whole, and gives it in order to all who ask at once", async () => {
    const asked = { count: 0 };
    const values = readAhead(numbers(asked, 100), { maxWaiting: 10, signal: undefined })[Symbol.asyncIterator]();
    const first = await Promise.all(Array.from({ length: 150 }, () => values.next()));
    expect(first.map(({ value }) => value?.number)).toEqual(Array.from({ length: 150 }, (_, number) => number));
    await standsStill(() => asked.count);
    expect(asked.count).toBe(2);
    await values.return?.();
  });

  test("tells those who wait of the failure once, and then that it is over", async () => {
    const source = async function* () {
      yield [{ number: 0 }];
      throw new Error("broken");
    };
    const values = readAhead(source, { maxWaiting: 10, signal: undefined })[Symbol.asyncIterator]();
    const all = await Promise.allSettled([values.next(), values.next(), values.next()]);
    expect(all).toEqual([
      { status: "fulfilled", value: { done: false, value: { number: 0 } } },
      { status: "rejected", reason: new Error("broken") },
      { status: "fulfilled", value: { done: true, value: undefined } },
    ]);
  });

  test("begins anew with each iteration", async () => {
    const asked = { count: 0 };
    const values = readAhead(numbers(asked), { maxWaiting: 1, signal: undefined });
    expect(await take(1, values)).toEqual([{ number: 0 }]);
    expect((await take(1, values))[0]?.number).toBeGreaterThan(0);
  });
});
