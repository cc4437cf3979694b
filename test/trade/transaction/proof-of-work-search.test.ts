import { describe, expect, it } from "@jest/globals";
import { nonceSearchModule, searchNonces } from "../../../src/trade/transaction/proof-of-work-search.js";
import { task } from "../../support/proof-of-work.js";

const prefix = new TextEncoder().encode(`Vega_SPAM_PoW${task.blockHash}${task.tid}`);
const END = 2n ** 64n;

describe("a search for a nonce", () => {
  it("finds the first one with enough zero bits", () => {
    expect(searchNonces({ prefix, first: 0n, difficulty: 16 }, 23846)).toBe(23845n);
    expect(searchNonces({ prefix, first: 23845n, difficulty: 16 }, 1)).toBe(23845n);
    expect(searchNonces({ prefix, first: 5n, difficulty: 0 }, 10)).toBe(5n);
  });

  it("tries no more than it is told", () => {
    expect(searchNonces({ prefix, first: 0n, difficulty: 16 }, 23845)).toBeUndefined();
  });

  it("tries the last nonce, and none behind it", () => {
    expect(searchNonces({ prefix, first: END - 1n, difficulty: 0 }, 10)).toBe(END - 1n);
    expect(searchNonces({ prefix, first: END - 3n, difficulty: 60 }, 16_384)).toBeUndefined();
    // Nonces that began at 0 again would do.
    expect(searchNonces({ prefix, first: 0n, difficulty: 8 }, 16_000)).toBeDefined();
    expect(searchNonces({ prefix, first: END - 3n, difficulty: 8 }, 16_384)).toBeUndefined();
  });

  it("does not take nonce 0 for the one behind the last", () => {
    const searches = Array.from({ length: 64 }, (_, index) => ({
      prefix: new TextEncoder().encode(`prefix ${index}`),
      difficulty: 1,
    }));
    const only = searches.filter(
      (search) =>
        searchNonces({ ...search, first: 0n }, 1) === 0n &&
        searchNonces({ ...search, first: END - 1n }, 1) === undefined,
    );
    expect(only.length).toBeGreaterThan(0);
    expect(only.map((search) => searchNonces({ ...search, first: END - 1n }, 2))).toEqual(only.map(() => undefined));
  });

  it("is compiled once", () => {
    expect(nonceSearchModule()).toBe(nonceSearchModule());
  });
});
