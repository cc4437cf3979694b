import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { CanceledError, FileError } from "tradewire";
import { archiveColumns } from "../../../src/data/archive/open-archive.js";
import { rawZip } from "../../support/raw-zip.js";

let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-columns-"));
  path = join(folder, "a.zip");
  const broken = `b,c,a\n${"1,2,3\n".repeat(20_000)}broken\n`;
  const files = [
    { name: "c-trades-1-1-10.csv", content: "a,b\n1,1\n" },
    { name: "c-trades-2-11-20.csv", content: broken },
  ];
  writeFileSync(path, rawZip(files));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("the columns of an archive", () => {
  it("are those of all files, each once, in the order in which they appear, whatever the rows are", async () => {
    expect(await archiveColumns(path)).toEqual(["a", "b", "c"]);
    await expect(archiveColumns(path, { maxRowBytes: 3 })).rejects.toThrow("c-trades-1-1-10.csv, line 1");
  });

  it("are unknown for what cannot be read twice", async () => {
    expect(await archiveColumns("/dev/null")).toBeUndefined();
  });

  it("are not read where there is no file, or the signal is aborted", async () => {
    await expect(archiveColumns(join(folder, "none.zip"))).rejects.toBeInstanceOf(FileError);
    await expect(archiveColumns(path, { signal: AbortSignal.abort() })).rejects.toBeInstanceOf(CanceledError);
  });
});
