import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import JSZip from "jszip";
import { NodeError, ProtocolError } from "tradewire";
import { type SaveTarget, saveArchive } from "../../../src/data/archive/save-archive.js";
import { fileFailure } from "../../base/file/saving.js";
import { csvZip, cutEvery, noise, zipOf } from "../../support/archives.js";
import { rawZip } from "../../support/raw-zip.js";

const NAME = "chain-1-trades-1-3000.zip";

let folder: string;
let archive: Buffer;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-download-"));
  archive = await csvZip(50_000);
});
afterEach(() => rm(folder, { recursive: true }));

async function* pieces(bytes = archive, end: () => unknown = () => undefined): AsyncGenerator<Uint8Array> {
  yield* cutEvery(bytes, 10_000);
  await end();
}

function save(where: Partial<SaveTarget> = {}, bytes: AsyncIterable<Uint8Array> = pieces()) {
  return saveArchive(bytes, { target: folder, fileName: () => NAME, force: false, ...where });
}

describe("saveArchive", () => {
  it("saves the bytes under their name and tells size, SHA-256 and files", async () => {
    const saved = await save();
    const zip = await JSZip.loadAsync(archive);
    expect(saved).toEqual({
      path: join(folder, NAME),
      bytes: archive.length,
      sha256: createHash("sha256").update(archive).digest("hex"),
      entries: [
        {
          name: "chain-1-trades-1-3000.csv",
          size: 68_005,
          compressedSize: expect.any(Number),
          crc32: archive.readUInt32LE(archive.indexOf("PK\x01\x02") + 16),
        },
      ],
      verified: "content",
    });
    expect(Object.keys(zip.files)).toEqual(saved.entries.map(({ name }) => name));
    expect(await readdir(folder)).toEqual([NAME]);
    expect((await readFile(saved.path)).equals(archive)).toBe(true);
  });

  it("checks the content or, where that is asked for, the structure alone", async () => {
    const wrong = rawZip([{ name: "a.csv", content: "a\n1\n", crc: 7 }]);
    await expect(save({}, pieces(wrong))).rejects.toThrow('the CRC-32 of "a.csv" is');
    const saved = await save({ verify: "structure" }, pieces(wrong));
    expect(saved).toMatchObject({ verified: "structure", entries: [{ name: "a.csv", size: 4, crc32: 7 }] });
    await rm(saved.path);
    await expect(save({ verify: "structure" }, pieces(archive.subarray(0, -1)))).rejects.toThrow("truncated");
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(["content", "structure"] as const)("is held to what was asked for (%s)", async (verify) => {
    const exported = { table: "trades", fromBlock: 1n, toBlock: 3000n } as const;
    await expect(save({ verify, exported: { ...exported, toBlock: 9n } })).rejects.toThrow("rows are missing");
    await expect(save({ verify, exported: async () => ({ ...exported, fromBlock: 0n }) })).rejects.toThrow("start at");
    expect(await readdir(folder)).toEqual([]);
    expect((await save({ verify, exported })).entries).toHaveLength(1);
  });

  it.each(["content", "structure"] as const)("fails with the node's error behind the bytes (%s)", async (verify) => {
    const object = Buffer.from('{"error":{"code":13,"message":"no segment","details":[]}}');
    for (const bytes of [Buffer.concat([archive, object]), Buffer.concat([archive.subarray(0, 20_000), object])]) {
      await expect(save({ verify }, pieces(bytes))).rejects.toBeInstanceOf(NodeError);
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(["content", "structure"] as const)("ends where the signal is aborted (%s)", async (verify) => {
    const controller = new AbortController();
    const bytes = pieces(archive.subarray(0, 20_000), () => {
      controller.abort("enough");
      return new Promise(() => undefined);
    });
    await expect(save({ verify, signal: controller.signal }, bytes)).rejects.toMatchObject({ cause: "enough" });
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(["content", "structure"] as const)("leaves no file open, saved or not (%s)", async (verify) => {
    const open = async () => (await readdir("/proc/self/fd")).length;
    const before = await open();
    await save({ verify });
    await save({ verify }).catch(() => undefined);
    await save({ verify, target: join(folder, "x.zip") }, pieces(Buffer.alloc(10))).catch(() => undefined);
    expect(await open()).toBe(before);
  });

  describe("leaves nothing behind", () => {
    it.each([
      ["before the first byte", 0],
      ["in the middle", 20_000],
      ["after the last byte", undefined],
    ])("where the bytes fail %s", async (_, size) => {
      const failed = new Error("cut off");
      const bytes = pieces(archive.subarray(0, size ?? archive.length), () => Promise.reject(failed));
      await expect(save({}, bytes)).rejects.toBe(failed);
      expect(await readdir(folder)).toEqual([]);
    });

    it.each([
      ["nothing came", () => Buffer.alloc(0)],
      ["the archive is cut short", () => archive.subarray(0, -30)],
      ["something stands before the archive", () => Buffer.concat([Buffer.from("\n"), archive])],
      ["something stands behind the archive", () => Buffer.concat([archive, noise(30)])],
      ["it is no archive", () => Buffer.from("a,b\n1,2\n")],
    ])("where %s", async (_, bytes) => {
      const saving = save({}, pieces(bytes()));
      await expect(saving).rejects.toThrow(ProtocolError);
      await expect(saving).rejects.toThrow(
        /^the archive is (corrupt|truncated): |^30 bytes follow the archive's end: /,
      );
      expect(await readdir(folder)).toEqual([]);
    });

    it("where the archive holds no file", async () => {
      await expect(save({}, pieces(await zipOf({})))).rejects.toThrow("the archive is corrupt: it contains no files");
      expect(await readdir(folder)).toEqual([]);
    });

    it.each(["../x.csv", "/x.csv", "a\\b.csv"])("where a file in the archive is named %j", async (name) => {
      const safe = "x".repeat(name.length);
      const hostile = Buffer.from(
        (await zipOf({ [safe]: noise(100) })).toString("latin1").replaceAll(safe, name),
        "latin1",
      );
      await expect(save({}, pieces(hostile))).rejects.toThrow(ProtocolError);
      expect(await readdir(folder)).toEqual([]);
    });
  });

  it("ends the bytes where the file cannot be written to its name", async () => {
    await writeFile(join(folder, NAME), "mine");
    let ended = false;
    async function* watched() {
      try {
        yield* pieces();
      } finally {
        ended = true;
      }
    }
    await fileFailure(save({}, watched()));
    expect(ended).toBe(true);
  });
});
