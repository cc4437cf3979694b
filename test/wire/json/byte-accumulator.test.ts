import { describe, expect, it } from "@jest/globals";
import { createByteAccumulator } from "../../../src/wire/json/byte-accumulator.js";
import { usedMemory } from "../../support/memory.js";

describe("a gathering of bytes", () => {
  it("gives what was pushed, and is empty then", () => {
    const gathering = createByteAccumulator();
    for (const text of ["ab", "", "c", "defg", "h"]) {
      gathering.push(Buffer.from(text));
    }
    expect(gathering.size).toBe(8);
    expect(gathering.take().toString()).toBe("abcdefgh");
    expect(gathering.size).toBe(0);
    expect(gathering.take()).toEqual(Buffer.alloc(0));
  });

  it("takes hardly more memory for single bytes than they have together", () => {
    const whole = Buffer.from(Array.from({ length: 500_000 }, (_, at) => at % 251));
    const gathering = createByteAccumulator();
    const before = usedMemory();
    for (const byte of whole) {
      gathering.push(Uint8Array.of(byte));
    }
    expect(usedMemory() - before).toBeLessThan(8 * whole.length); // As single pieces, they would take a hundred times as much.
    expect(gathering.take().equals(whole)).toBe(true);
  });

  it("copies no large piece", () => {
    const gathering = createByteAccumulator();
    const before = usedMemory();
    const piece = Buffer.alloc(1024 * 1024);
    for (let at = 0; at < 100; at += 1) {
      gathering.push(piece);
    }
    expect(usedMemory() - before).toBeLessThan(10 * piece.length);
    expect(gathering.size).toBe(100 * piece.length);
  });
});
