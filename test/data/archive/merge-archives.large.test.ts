import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { mergeArchives, openArchive } from "tradewire";
import { zipOf } from "../../support/archives.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-merge-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("mergeArchives", () => {
  it("copies more than is held at once, and is read as the rows of its parts", async () => {
    const text = (from: number) =>
      `n,text\n${Array.from({ length: 50_000 }, (_, n) => `${from + n},"text, ${n}"\n`).join("")}`;
    const paths = [join(folder, "a.zip"), join(folder, "b.zip")];
    for (const [index, path] of paths.entries()) {
      const name = `c-orders-${index * 100 + 1}-${index * 100 + 100}.csv`;
      writeFileSync(path, await zipOf({ [name]: Buffer.from(text(index * 50_000)) }, { streamed: true }));
    }
    const { path } = await mergeArchives(paths, join(folder, "c.zip"));
    let next = 0;
    for await (const row of openArchive(path).rows()) {
      if (row["n"] !== String(next)) {
        throw new Error(`row ${next} is ${row["n"]}`);
      }
      next += 1;
    }
    expect(next).toBe(100_000);
  });
});
