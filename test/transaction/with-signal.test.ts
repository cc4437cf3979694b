import { describe, expect, it } from "@jest/globals";
import { withSignal } from "../../src/transaction/with-signal.js";

describe("the options of a call", () => {
  it("hold the signal", () => {
    const { signal } = new AbortController();
    expect(withSignal(signal).signal).toBe(signal);
  });

  it("hold nothing where there is no signal, not even `undefined`", () => {
    expect(Object.keys(withSignal(undefined))).toEqual([]);
  });
});
