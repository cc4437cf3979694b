import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { mergeArchives, openArchive, ProtocolError, RequestError } from "tradewire";
import { archiveOutcome } from "../../support/archive-outcome.js";
import { rawZip } from "../../support/raw-zip.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-merge-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The paths of archives that hold the given files. */
function archives(...all: readonly Readonly<Record<string, string>>[]): string[] {
  return all.map((files, index) => {
    const path = join(folder, `${index}.zip`);
    writeFileSync(path, rawZip(Object.entries(files).map(([name, content]) => ({ name, content }))));
    return path;
  });
}

async function merged(sources: readonly string[], options?: Parameters<typeof mergeArchives>[2]) {
  const saved = await mergeArchives(sources, `${join(folder, "merged")}/`, options);
  const unzip = spawnSync("unzip", ["-t", saved.path]);
  if (unzip.error === undefined) {
    expect(unzip.status).toBe(0);
  }
  const contents: Record<string, string> = {};
  const zip = await openArchive(saved.path).toZip();
  for (const name of Object.keys(zip.files)) {
    contents[name] = (await zip.file(name)?.async("string")) ?? "";
  }
  expect((await archiveOutcome(saved.path)).error).toBeUndefined();
  return { name: basename(saved.path), contents };
}

describe("mergeArchives", () => {
  it("joins ranges of one schema into one file with one header row", async () => {
    const sources = archives(
      { "chain-1-trades-001001-002000.csv": '"a",b\r\n3,"x\ny"\r\n' },
      { "chain-1-trades-1-1000.csv": 'a,b\n1,\n2,""\n' },
      { "chain-1-trades-2001-3000.csv": "a,b\n" },
      { "chain-1-trades-3001-4000.csv": "a,b\n4,4\n" },
    );
    expect(await merged(sources)).toEqual({
      name: "chain-1-trades-1-4000.zip",
      contents: { "chain-1-trades-1-4000.csv": 'a,b\n1,\n2,""\n3,"x\ny"\r\n4,4\n' },
    });
  });

  it("keeps one file for each schema version", async () => {
    const sources = archives(
      { "c-trades-1-1-1000.csv": "a\n1\n", "c-trades-2-1001-2000.csv": "a,b\n2,2\n" },
      { "c-trades-2001-3000.csv": "a,b\n3,3\n" },
      { "c-trades-2-3001-4000.csv": "a,b\n4,4\n", "c-trades-5-4001-5000.csv": "b\n5\n" },
    );
    expect(await merged(sources)).toEqual({
      name: "c-trades-5-1-5000.zip",
      contents: {
        "c-trades-1-1-1000.csv": "a\n1\n",
        "c-trades-2-1001-4000.csv": "a,b\n2,2\n3,3\n4,4\n",
        "c-trades-5-4001-5000.csv": "b\n5\n",
      },
    });
  });

  it("names no schema version where there is one, as deployed nodes write it", async () => {
    const sources = archives(
      { "c-trades-002-000001-000300.csv": "a\n1\n" },
      { "c-trades-002-000301-000600.csv": "a\n2\n" },
    );
    expect(await merged(sources)).toEqual({
      name: "c-trades-1-600.zip",
      contents: { "c-trades-1-600.csv": "a\n1\n2\n" },
    });
  });

  it("gives the names that deployed nodes give in their profile", async () => {
    const sources = archives(
      { "c-trades-2-1-300.csv": "a\n1\n" },
      { "c-trades-301-600.csv": "a\n2\n" },
      { "c-trades-005-000601-000900.csv": "b\n3\n" },
    );
    expect(await merged(sources.slice(0, 2), { profile: "deployed" })).toEqual({
      name: "c-trades-000001-000600.zip",
      contents: { "c-trades-002-000001-000600.csv": "a\n1\n2\n" },
    });
    expect(await merged(sources, { profile: "deployed" })).toEqual({
      name: "c-trades-000001-000900.zip",
      contents: { "c-trades-002-000001-000600.csv": "a\n1\n2\n", "c-trades-005-000601-000900.csv": "b\n3\n" },
    });
    expect(await merged(sources.slice(1, 2), { profile: "deployed" })).toEqual({
      name: "c-trades-000301-000600.zip",
      contents: { "c-trades-000301-000600.csv": "a\n2\n" },
    });
  });

  it("takes files without a schema version for the version of those beside them, where the columns are equal", async () => {
    const sources = archives(
      { "c-trades-1-10.csv": "a\n1\n" },
      { "c-trades-2-11-20.csv": "a\n2\n" },
      { "c-trades-3-21-30.csv": "a,b\n3,3\n" },
    );
    expect(await merged(sources)).toEqual({
      name: "c-trades-3-1-30.zip",
      contents: { "c-trades-2-1-20.csv": "a\n1\n2\n", "c-trades-3-21-30.csv": "a,b\n3,3\n" },
    });
  });

  it("leaves out the header row of each file but the first, however many pieces a file has", async () => {
    const rows = (from: number) => Array.from({ length: 20_000 }, (_, n) => `${from + n},"x\ny"\n`).join("");
    const sources = archives(
      { "c-trades-1-10.csv": `n,text\n${rows(0)}` },
      { "c-trades-11-20.csv": `n,"text"\n${rows(20_000)}` },
      { "c-trades-21-30.csv": `n,text\n${rows(40_000)}` },
    );
    const { contents } = await merged(sources);
    expect(contents["c-trades-1-30.csv"] === `n,text\n${rows(0)}${rows(20_000)}${rows(40_000)}`).toBe(true);
  });

  it("says what to do, and which file is wrong", async () => {
    const overlapping = archives({ "c-trades-1-10.csv": "a\n" }, { "c-trades-10-20.csv": "a\n" });
    await expect(mergeArchives(overlapping, join(folder, "c.zip"))).rejects.toThrow(
      'the archives cannot be merged: "c-trades-1-10.csv" and "c-trades-10-20.csv" overlap\nRemove one of them',
    );
    await expect(mergeArchives(["/dev/null"], join(folder, "c.zip"))).rejects.toThrow(
      'the archives cannot be merged: "/dev/null" is not a regular file\nSave the archive to a file first',
    );
    // The rows are read again when they are copied, with the limit that holds for them.
    const rows = `a\n${"1\n".repeat(50_000)}${"2".repeat(200)}\n`;
    const long = archives({ "c-trades-1-10.csv": rows });
    await expect(mergeArchives(long, join(folder, "c.zip"), { maxRowBytes: 100 })).rejects.toThrow(
      "c-trades-1-10.csv, line 50002",
    );
  });

  it("ends where the signal is aborted", async () => {
    const sources = archives({ "c-trades-1-10.csv": "a\n" });
    const merging = mergeArchives(sources, join(folder, "c.zip"), { signal: AbortSignal.abort("enough") });
    await expect(merging).rejects.toMatchObject({ cause: "enough" });
    expect(readdirSync(folder)).toEqual(["0.zip"]);
  });

  it.each<[string, readonly Readonly<Record<string, string>>[], string]>([
    ["nothing", [], "the list is empty"],
    ["overlap", [{ "c-trades-1-10.csv": "a\n" }, { "c-trades-10-20.csv": "a\n" }], "overlap"],
    ["one twice", [{ "c-trades-1-10.csv": "a\n" }, { "c-trades-1-10.csv": "a\n" }], "overlap"],
    [
      "a gap",
      [{ "c-trades-1-10.csv": "a\n" }, { "c-trades-21-30.csv": "a\n" }],
      'the blocks 11 to 20 between "c-trades-1-10.csv" and "c-trades-21-30.csv" are missing',
    ],
    ["two chains", [{ "c-trades-1-10.csv": "a\n" }, { "d-trades-11-20.csv": "a\n" }], "to different chains"],
    ["two tables", [{ "c-trades-1-10.csv": "a\n" }, { "c-orders-11-20.csv": "a\n" }], "contain different tables"],
    ["an unknown name", [{ "c.csv": "a\n" }], "does not contain its table and blocks"],
    [
      "two headers of one version",
      [{ "c-trades-1-1-10.csv": "a\n" }, { "c-trades-1-11-20.csv": "b\n" }],
      "have the same schema version, but different columns",
    ],
    [
      "two headers of unknown versions",
      [{ "c-trades-1-10.csv": "a\n" }, { "c-trades-11-20.csv": "a,b\n" }],
      "their names do not both contain a schema version",
    ],
    [
      "two headers that begin alike",
      [{ "c-trades-1-10.csv": "a,b\n" }, { "c-trades-11-20.csv": "a,c\n" }],
      "their names do not both contain a schema version",
    ],
    [
      "another header of the first version that is known",
      [{ "c-trades-1-10.csv": "a\n" }, { "c-trades-2-11-20.csv": "b\n" }],
      "their names do not both contain a schema version",
    ],
    [
      "falling versions",
      [{ "c-trades-2-1-10.csv": "a\n" }, { "c-trades-1-11-20.csv": "a\n" }],
      "schema version decreases between",
    ],
  ])("refuses %s", async (_, files, reason) => {
    const sources = archives(...files);
    const merging = mergeArchives(sources, join(folder, "c.zip"));
    await expect(merging).rejects.toThrow(RequestError);
    await expect(merging).rejects.toThrow(reason);
    expect(readdirSync(folder)).toEqual(sources.map((path) => basename(path)));
  });

  it.each([
    ["a CRC-32 is wrong", rawZip([{ name: "c-trades-11-20.csv", content: "a\n2\n", crc: 1 }]), "CRC-32"],
    ["a row is broken", rawZip([{ name: "c-trades-11-20.csv", content: "a\n2,2\n" }]), "the row has more than 1 field"],
    ["an archive is cut", rawZip([{ name: "c-trades-11-20.csv", content: "a\n2\n" }]).subarray(0, -5), "truncated"],
  ])("leaves nothing behind where %s", async (_, second, reason) => {
    const sources = archives({ "c-trades-1-10.csv": "a\n1\n" });
    const path = join(folder, "broken.zip");
    writeFileSync(path, second);
    const merging = mergeArchives([...sources, path], join(folder, "c.zip"));
    await expect(merging).rejects.toThrow(ProtocolError);
    await expect(merging).rejects.toThrow(reason);
    expect(readdirSync(folder)).toEqual(["0.zip", "broken.zip"]);
  });

  it("replaces a file by force only", async () => {
    const sources = archives({ "c-trades-1-10.csv": "a\n1\n" });
    const target = join(folder, "c.zip");
    writeFileSync(target, "mine");
    await expect(mergeArchives(sources, target)).rejects.toThrow("file already exists");
    expect(readFileSync(target, "utf8")).toBe("mine");
    await mergeArchives(sources, target, { force: true });
    expect((await archiveOutcome(target)).error).toBeUndefined();
  });
});
