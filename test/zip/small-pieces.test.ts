import { describe, expect, it } from "@jest/globals";
import { createArchiveEnd } from "../../src/zip/end.js";
import { csvZip } from "../support/archives.js";

describe("the end of an archive in small pieces", () => {
  it("is found without a copy of what came before for each", async () => {
    const archive = await csvZip(20_000);
    const bytes = Buffer.concat([archive, Buffer.from("{}")]);
    const end = createArchiveEnd();
    let own = 0;
    const begin = performance.now();
    // As many pieces as a large export in bytes would have.
    const before = createArchiveEnd();
    for (let at = 0; at < 1_000_000; at += 1) {
      before.push(Uint8Array.of(at & 0xff));
    }
    for (const byte of bytes) {
      own += end.push(Uint8Array.of(byte)).length;
    }
    expect(performance.now() - begin).toBeLessThan(20_000);
    end.finish();
    expect([own, end.trailingSize]).toEqual([archive.length, 2]);
  });
});
