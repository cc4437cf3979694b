import { createHash } from "node:crypto";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import JSZip from "jszip";
import { type SaveTarget, saveArchive } from "../../src/archive/save.js";
import { FileError, NodeError, ProtocolError } from "../../src/errors/index.js";
import { csvZip, cutEvery, noise, zipOf } from "../support/archives.js";
import { rawZip } from "../support/raw-zip.js";

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

async function failure(saving: Promise<unknown>): Promise<FileError> {
  const error = await saving.then(
    () => new Error("it was saved"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof FileError)) {
    throw error;
  }
  return error;
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

  it("saves more than is written at once", async () => {
    const large = await zipOf({ "a.csv": noise(5_000_001) }, { stored: true });
    async function* uneven() {
      yield* cutEvery(large, 700_001);
    }
    const saved = await save({}, uneven());
    expect((await readFile(saved.path)).equals(large)).toBe(true);
    expect(saved.sha256).toBe(createHash("sha256").update(large).digest("hex"));
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
    await expect(save({ verify, exported: async () => ({ ...exported, fromBlock: 0n }) })).rejects.toThrow("begin at");
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

  it("writes while bytes arrive, once a MiB has been gathered", async () => {
    const large = await zipOf({ "a.csv": noise(3 * 1024 * 1024) }, { stored: true });
    const sizeOf = async () => {
      const [temporary = ""] = await readdir(folder);
      return (await stat(join(folder, temporary))).size;
    };
    let before = -1;
    let after = 0;
    async function* source() {
      yield large.subarray(0, 1024 * 1024 - 1);
      before = await sizeOf();
      yield large.subarray(1024 * 1024 - 1, 1024 * 1024);
      for (let tries = 0; tries < 200 && after === 0; tries += 1) {
        await new Promise(setImmediate);
        after = await sizeOf();
      }
      yield large.subarray(1024 * 1024);
    }
    const saved = await save({}, source());
    expect([before, after]).toEqual([0, 1024 * 1024]);
    expect((await readFile(saved.path)).equals(large)).toBe(true);
  });

  it("leaves no file open, whether it is saved or not", async () => {
    const open = async () => (await readdir("/proc/self/fd")).length;
    const before = await open();
    await save();
    await save().catch(() => undefined);
    await save({ target: join(folder, "x.zip") }, pieces(Buffer.alloc(10))).catch(() => undefined);
    expect(await open()).toBe(before);
  });

  it("does not read on where the name is taken", async () => {
    await writeFile(join(folder, NAME), "mine");
    let given = 0;
    async function* source() {
      for await (const piece of pieces()) {
        given += 1;
        yield piece;
      }
    }
    await failure(save({}, source()));
    expect(given).toBe(1);
  });

  it("asks for the name once", async () => {
    const names: string[] = [];
    await save({
      fileName: () => {
        names.push(NAME);
        return NAME;
      },
    });
    expect(names).toEqual([NAME]);
  });

  it("does not ask for the name before bytes arrive", async () => {
    let begun = false;
    const fileName = () => (begun ? NAME : "too-early.zip");
    async function* late() {
      begun = true;
      yield* pieces();
    }
    expect((await save({ fileName }, late())).path).toBe(join(folder, NAME));
  });

  it("saves to a path, and makes a folder where the path ends in a separator", async () => {
    expect((await save({ target: join(folder, "mine.zip") })).path).toBe(join(folder, "mine.zip"));
    const saved = await save({ target: `${join(folder, "a", "b")}/` });
    expect(saved.path).toBe(join(folder, "a", "b", NAME));
    expect(isAbsolute(saved.path)).toBe(true);
  });

  describe("where a file of that name exists", () => {
    it.each(["a folder", "a path"])("refuses to replace it (%s)", async (kind) => {
      await writeFile(join(folder, NAME), "mine");
      const error = await failure(save(kind === "a path" ? { target: join(folder, NAME) } : {}));
      expect(error.code).toBe(Code.AlreadyExists);
      expect(error.message).toBe(
        `${JSON.stringify(join(folder, NAME))}: it exists already\nChoose another name, or allow it to be replaced (force).`,
      );
      expect(await readdir(folder)).toEqual([NAME]);
      expect(await readFile(join(folder, NAME), "utf8")).toBe("mine");
    });

    it("does not even ask for the bytes where the path is taken", async () => {
      await writeFile(join(folder, NAME), "mine");
      let asked = false;
      async function* watched() {
        asked = true;
        yield* pieces();
      }
      await failure(save({ target: join(folder, NAME) }, watched()));
      expect(asked).toBe(false);
    });

    it.each(["a folder", "a path"])("replaces it by force (%s)", async (kind) => {
      await writeFile(join(folder, NAME), "mine");
      const saved = await save({ force: true, ...(kind === "a path" ? { target: join(folder, NAME) } : {}) });
      expect((await readFile(saved.path)).equals(archive)).toBe(true);
      expect(await readdir(folder)).toEqual([NAME]);
    });

    it("keeps the old file where the new one fails by force", async () => {
      await writeFile(join(folder, NAME), "mine");
      const broken = pieces(archive, () => Promise.reject(new Error("cut off")));
      await expect(save({ force: true }, broken)).rejects.toThrow("cut off");
      expect(await readFile(join(folder, NAME), "utf8")).toBe("mine");
      expect(await readdir(folder)).toEqual([NAME]);
    });

    it("refuses one that appears during the download", async () => {
      const error = await failure(
        save(
          {},
          pieces(archive, () => writeFile(join(folder, NAME), "theirs")),
        ),
      );
      expect(error.code).toBe(Code.AlreadyExists);
      expect(await readdir(folder)).toEqual([NAME]);
      expect(await readFile(join(folder, NAME), "utf8")).toBe("theirs");
    });

    it("takes a link that leads nowhere for a file", async () => {
      await symlink(join(folder, "elsewhere"), join(folder, NAME));
      for (const target of [folder, join(folder, NAME)]) {
        expect((await failure(save({ target }))).code).toBe(Code.AlreadyExists);
      }
      expect(await readdir(folder)).toEqual([NAME]);
    });

    it("replaces a link, not what it leads to, by force", async () => {
      await writeFile(join(folder, "elsewhere"), "theirs");
      await symlink(join(folder, "elsewhere"), join(folder, NAME));
      await save({ force: true });
      expect((await lstat(join(folder, NAME))).isFile()).toBe(true);
      expect(await readFile(join(folder, "elsewhere"), "utf8")).toBe("theirs");
    });
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
      await expect(save({}, pieces(await zipOf({})))).rejects.toThrow("the archive is corrupt: it holds no file");
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
    await failure(save({}, watched()));
    expect(ended).toBe(true);
  });

  describe("says why there is no file", () => {
    it("where the folder does not exist", async () => {
      const error = await failure(save({ target: join(folder, "no", "x.zip") }));
      expect(error.code).toBe(Code.NotFound);
      expect(error.message).toBe(
        `${JSON.stringify(join(folder, "no"))}: it does not exist\nMake the folder first, or choose another path.`,
      );
    });

    it("where a part of the path is a file", async () => {
      await writeFile(join(folder, "file"), "");
      for (const target of [join(folder, "file", "x.zip"), `${join(folder, "file", "x")}/`]) {
        const error = await failure(save({ target }));
        expect(error.summary).toContain("a part of the path is no folder");
      }
    });

    it("where a folder has the name, by force", async () => {
      await mkdir(join(folder, NAME));
      const error = await failure(save({ force: true }));
      expect(error.summary).toBe(`${JSON.stringify(join(folder, NAME))}: it is a folder`);
      expect(await readdir(folder)).toEqual([NAME]);
    });
  });
});
