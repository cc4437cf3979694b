import { describe, expect, test } from "@jest/globals";
import { createLatenessMeter } from "../../../src/trade/live/read-ahead.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

describe("a consumer", () => {
  /** What is thought of a consumer that lets the source wait so often, so long each, and then reads for a while. */
  async function isLateAfter(waits: number, eachMs: number, laterMs: number): Promise<boolean> {
    using runtime = useVirtualRuntime();
    const lateness = createLatenessMeter();
    for (let made = 0; made < waits; made += 1) {
      const wait = Promise.resolve().then(() => {
        runtime.skip(eachMs);
      });
      await lateness.measure(wait);
      runtime.skip(1);
    }
    runtime.skip(laterMs);
    return lateness.isLate();
  }

  test.each([
    ["is late after one long wait", 1, 200, 10, true],
    ["is late after many short ones", 200, 1, 10, true],
    ["is not late after a burst", 5, 1, 10, false],
    ["is not late any more after a while", 1, 200, 20_000, false],
    ["is not late where nothing waited", 0, 0, 0, false],
  ])("%s", async (_, waits, eachMs, laterMs, expected) => {
    expect(await isLateAfter(waits, eachMs, laterMs)).toBe(expected);
  });
});
