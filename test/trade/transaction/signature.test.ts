import { describe, expect, it } from "@jest/globals";
import { verifySignature } from "tradewire";

const publicKey = "b5fd9d3c4ad553cb3196303b6e6df7f484cf7f5331a572a45031239fd71ad8a0";
const signature =
  "d1c497702086b54f98821e6cbbd9b3f3390d9531b10a23dabf155f9b5a7f371b8e49210d21ef3a399700c6d407ec50edcf4cc3cefe1657213e479d32bbaa520f";
const message = Buffer.from("mainnet-v1\0hello world");

describe("a signature", () => {
  it("of the network's own software verifies, in digits of either case", () => {
    expect(verifySignature(message, signature, publicKey)).toBe(true);
    expect(verifySignature(message, signature.toUpperCase(), publicKey.toUpperCase())).toBe(true);
  });

  it("verifies neither another message, nor by another key", () => {
    expect(verifySignature(Buffer.from("hello world"), signature, publicKey)).toBe(false);
    expect(verifySignature(message, signature, `a${publicKey.slice(1)}`)).toBe(false);
    expect(verifySignature(message, `${signature.slice(0, -2)}00`, publicKey)).toBe(false);
  });

  it.each([
    ["no such signature", signature.slice(2), publicKey],
    ["no signature", "", publicKey],
    ["no such key", signature, `${publicKey}00`],
    ["no key", signature, ""],
  ])("with %s does not verify", (_, given, key) => {
    expect(verifySignature(message, given, key)).toBe(false);
  });
});
