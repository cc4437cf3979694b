import { describe, expect, it } from "@jest/globals";
import { namedChain, requireChain } from "../../../src/trade/transaction/signing-chain.js";

describe("the chain to sign for", () => {
  it("is the one named for the transaction, or else the client's", () => {
    const settings = { chainId: "client-1", isLoopback: false };
    expect(namedChain("own-1", settings)).toBe("own-1");
    expect(namedChain(undefined, settings)).toBe("client-1");
    expect(namedChain("own-1", { isLoopback: false })).toBe("own-1");
  });

  it("may be the node's to name on loopback alone", () => {
    expect(namedChain(undefined, { isLoopback: true })).toBeUndefined();
    expect(() => namedChain(undefined, { isLoopback: false })).toThrow(
      "the chain ID is required, because the node is not on loopback\nSet the chain to sign for: chainId",
    );
  });

  it.each(["", "a\0b", "a b", "x".repeat(51)])("has the form of an identifier, wherever the node is: %j", (wrong) => {
    for (const isLoopback of [true, false]) {
      expect(() => namedChain(wrong, { isLoopback })).toThrow("chainId");
      expect(() => namedChain(undefined, { chainId: wrong, isLoopback })).toThrow("chainId");
    }
  });
});

describe("the chain of the node", () => {
  it("has to be the one that is named", () => {
    expect(() => requireChain("test-1", "test-1")).not.toThrow();
    expect(() => requireChain("test-2", "test-1")).toThrow(
      'the node is on chain "test-2", not on "test-1"\nCheck the node\'s URL',
    );
    expect(() => requireChain("", "test-1")).toThrow("the node is on chain");
  });

  it("has to have the form of an identifier where none is named", () => {
    expect(() => requireChain("test-1", undefined)).not.toThrow();
    expect(() => requireChain("test-1\0", undefined)).toThrow("the node's chain ID");
    expect(() => requireChain("", undefined)).toThrow("the node's chain ID");
  });
});
