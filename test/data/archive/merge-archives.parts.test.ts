import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { CanceledError, FileError, ProtocolError } from "tradewire";
import { createPartReader, type Part } from "../../../src/data/archive/merge-archives.js";
import { rawZip } from "../../support/raw-zip.js";
import { textOf } from "../../support/taken.js";

let folder: string;
let first: string;
let second: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-parts-"));
  first = join(folder, "first.zip");
  second = join(folder, "second.zip");
  const files = ["a.csv", "b.csv", "c.csv"].map((name) => ({ name, content: `${name} of the first` }));
  writeFileSync(first, rawZip(files));
  writeFileSync(second, rawZip([{ name: "a.csv", content: "a.csv of the second" }]));
});
afterAll(() => rmSync(folder, { recursive: true }));

function part(path: string, fileName: string): Part {
  return { path, fileName, name: { chainId: "c", table: "trades", fromBlock: 1n, toBlock: 2n }, columns: [] };
}

describe("a reader of parts", () => {
  it("opens the files of archives one after another, some of them left out", async () => {
    await using reader = createPartReader(undefined);
    const texts: string[] = [];
    for (const [path, name] of [
      [first, "a.csv"],
      [first, "c.csv"],
      [second, "a.csv"],
      [first, "b.csv"],
    ] as const) {
      texts.push(await textOf(await reader.open(part(path, name))));
    }
    expect(texts).toEqual(["a.csv of the first", "c.csv of the first", "a.csv of the second", "b.csv of the first"]);
  });

  it("reads an archive forwards", async () => {
    await using reader = createPartReader(undefined);
    await reader.open(part(first, "c.csv"));
    await expect(reader.open(part(first, "a.csv"))).rejects.toThrow("changed while it was read");
  });

  it("says that an archive was changed where a file is missing, or there is none any more", async () => {
    await using reader = createPartReader(undefined);
    const missing = reader.open(part(first, "x.csv"));
    await expect(missing).rejects.toBeInstanceOf(ProtocolError);
    await expect(missing).rejects.toThrow(
      `the archive is corrupt: "x.csv" in ${JSON.stringify(first)} changed while it was read`,
    );
    await expect(reader.open(part("/dev/null", "a.csv"))).rejects.toThrow("the archive is truncated");
    await expect(reader.open(part(join(folder, "none.zip"), "a.csv"))).rejects.toBeInstanceOf(FileError);
  });

  it("closes an archive with the next, and the last one with itself", async () => {
    const reader = createPartReader(undefined);
    const content = await reader.open(part(first, "a.csv"));
    await reader.open(part(second, "a.csv"));
    await expect(textOf(content)).rejects.toBeInstanceOf(FileError);
    const last = await reader.open(part(first, "a.csv"));
    await reader[Symbol.asyncDispose]();
    await expect(textOf(last)).rejects.toBeInstanceOf(FileError);
    await reader[Symbol.asyncDispose]();
    expect(await textOf(await reader.open(part(first, "a.csv")))).toBe("a.csv of the first");
    await reader[Symbol.asyncDispose]();
  });

  it("ends where the signal is aborted", async () => {
    await using reader = createPartReader(AbortSignal.abort());
    await expect(textOf(await reader.open(part(first, "a.csv")))).rejects.toBeInstanceOf(CanceledError);
  });
});
