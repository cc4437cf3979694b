import { describe, expect, it } from "@jest/globals";
import { createActiveSet } from "../../../src/base/signal/collections.js";

describe("a bag", () => {
  it("holds what was put in and not taken out, in whatever order that happens", () => {
    const bag = createActiveSet<string>();
    const takeOut = new Map(["a", "b", "c", "d", "a"].map((item, at) => [at, bag.add(item)]));
    takeOut.get(1)?.();
    expect(bag.list().sort()).toEqual(["a", "a", "c", "d"]);
    takeOut.get(4)?.();
    takeOut.get(4)?.();
    expect(bag.list().sort()).toEqual(["a", "c", "d"]);
    const last = bag.add("e");
    takeOut.get(0)?.();
    last();
    takeOut.get(2)?.();
    takeOut.get(3)?.();
    expect(bag.list()).toEqual([]);
  });
});
