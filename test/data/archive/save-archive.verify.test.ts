import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { CanceledError } from "tradewire";
import { createNameCheck, verifyContent, verifyStructure } from "../../../src/data/archive/save-archive.js";
import { cutEvery, noise } from "../../support/archives.js";
import { type RawEntry, rawZip } from "../../support/raw-zip.js";
import { given } from "../../support/taken.js";
import type { Exported } from "./inside.js";

const folderEntry: RawEntry = { name: "c/", content: "", stored: true };
const one: RawEntry = { name: "c-trades-1-10.csv", content: "a\n1\n" };
const two: RawEntry = { name: "c-trades-11-20.csv", content: "a\n2\n", descriptor: { signed: true, wide: false } };
const archive = rawZip([folderEntry, one, two]);
const exported: Exported = { table: "trades", fromBlock: 1n, toBlock: 20n };
const entries = [
  { name: one.name, size: 4, compressedSize: 6, crc32: expect.any(Number) },
  { name: two.name, size: 4, compressedSize: 6, crc32: expect.any(Number) },
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-verify-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const content = (bytes: Buffer, asked: Exported = undefined, signal?: AbortSignal) =>
  verifyContent(given(cutEvery(bytes, 33)), { exported: asked, signal });

function structure(bytes: Buffer, asked: Exported = undefined) {
  const path = join(folder, "a.zip");
  writeFileSync(path, bytes);
  return verifyStructure(path, asked);
}

async function names(bytes: Buffer, asked: Exported = undefined) {
  const check = createNameCheck(asked);
  for (const piece of cutEvery(bytes, 33)) {
    check.push(piece);
  }
  await check.finish();
}

const checks = { content, structure, names };

describe.each(Object.entries(checks))("an archive of which the %s is checked", (_, check) => {
  it("is accepted where it is what was asked for, or nothing was", async () => {
    for (const asked of [undefined, exported, () => exported, async () => exported]) {
      await check(archive, asked);
    }
  });

  it("is refused where it is not what was asked for", async () => {
    for (const asked of [{ ...exported, toBlock: 30n }, async () => ({ ...exported, toBlock: 30n })]) {
      await expect(check(archive, asked)).rejects.toThrow("rows are missing");
    }
    await expect(check(archive, { ...exported, fromBlock: 0n })).rejects.toThrow("must start at block 0");
    await expect(check(archive, { ...exported, table: "orders" })).rejects.toThrow("orders was requested");
    await expect(check(rawZip([two, one]))).rejects.toThrow("starts at block 1, but");
  });

  it("is refused with a folder that has content", async () => {
    const hiding = rawZip([{ ...folderEntry, content: "a" }, one]);
    await expect(check(hiding)).rejects.toThrow('"c/" is a folder that is not empty');
  });

  it("is refused with a directory that is broken", async () => {
    await expect(check(rawZip([{ ...one, flags: 1 }]))).rejects.toThrow("is encrypted");
  });
});

describe("the check of an archive's content", () => {
  it("gives its files with their measures", async () => {
    expect(await content(archive)).toEqual(entries);
    expect(await content(rawZip([folderEntry]))).toEqual([]);
  });

  it("finds another CRC-32, and a row that is cut is no matter of it", async () => {
    await expect(content(rawZip([{ ...one, crc: 7 }]))).rejects.toThrow("the CRC-32 of");
    expect(await content(rawZip([{ ...one, content: "a\n1" }]))).toHaveLength(1);
  });

  it("sets no limit to sizes", async () => {
    const large = rawZip([{ name: "a.csv", content: Buffer.alloc(17 * 1024 * 1024) }]);
    expect(await content(large)).toMatchObject([{ size: 17 * 1024 * 1024 }]);
  });

  it("ends where the signal is aborted", async () => {
    await expect(content(archive, undefined, AbortSignal.abort())).rejects.toBeInstanceOf(CanceledError);
  });
});

describe("the check of an archive's structure", () => {
  it("gives its files with their measures, and does not read them", async () => {
    expect(await structure(archive)).toEqual(entries);
    expect(await structure(rawZip([{ ...one, crc: 7 }]))).toMatchObject([{ crc32: 7 }]);
  });

  it("finds gaps", async () => {
    await expect(structure(rawZip([one, two], { between: "x".repeat(30) }))).rejects.toThrow("but the previous part");
  });
});

describe("the check of an archive's names", () => {
  it("reads large archives", async () => {
    await names(rawZip([{ ...one, stored: true, content: noise(1_100_000) }, two]), exported);
  });
});
