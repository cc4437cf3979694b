import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { temporaryName } from "./inside.js";
import { csv, fileFailure, fileMethods, saveInto } from "./saving.js";

const MIB = 1024 * 1024;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-save-whole-"));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true });
});

const save = (pieces?: Parameters<typeof saveInto>[1], given?: Parameters<typeof saveInto>[2]) =>
  saveInto(folder, pieces, given);

describe("a file", () => {
  it("is saved in a folder, under the name that is asked for once", async () => {
    const fileName = jest.fn(() => "a.csv");
    const saved = await save([new Uint8Array(), csv.subarray(0, 3), csv.subarray(3)], { fileName });
    expect(saved).toEqual({
      path: join(folder, "a.csv"),
      bytes: 8,
      sha256: createHash("sha256").update(csv).digest("hex"),
      found: 8,
    });
    expect(await readdir(folder)).toEqual(["a.csv"]);
    expect(await readFile(saved.path, "utf8")).toBe("a,b\n1,2\n");
    expect(fileName).toHaveBeenCalledTimes(1);
  });

  it("is saved to a path, whose name is not asked for", async () => {
    const fileName = jest.fn(() => "a.csv");
    const target = relative(process.cwd(), join(folder, "b.csv"));
    expect((await save([csv], { target, fileName })).path).toBe(join(folder, "b.csv"));
    expect(await readdir(folder)).toEqual(["b.csv"]);
    expect(fileName).not.toHaveBeenCalled();
  });

  it("is told of whole, right before it has its name", async () => {
    const told: unknown[] = [];
    const beforeNaming = async (saved: { readonly path: string }) => {
      told.push({ ...saved, isThere: existsSync(saved.path) });
    };
    const { path, bytes, sha256 } = await save([csv], { beforeNaming });
    expect(told).toEqual([{ path, bytes, sha256, isThere: false }]);
    const refused = save([csv], { force: true, beforeNaming: () => Promise.reject(new Error("not this name")) });
    await expect(refused).rejects.toThrow("not this name");
    expect(await readdir(folder)).toEqual(["a.csv"]);
  });

  it("has a name that is not asked for before its bytes arrive", async () => {
    let begun = false;
    async function* late() {
      begun = true;
      yield csv;
    }
    const { path } = await save(late(), { fileName: () => (begun ? "a.csv" : "too-early.csv") });
    expect(path).toBe(join(folder, "a.csv"));
  });

  it.each(["/", "\\"])("is saved in a new folder where the path ends in %s", async (end) => {
    const target = join(folder, "new", "one") + end;
    expect((await save([csv], { target })).path).toBe(join(target, "a.csv"));
    expect(await readFile(join(target, "a.csv"), "utf8")).toBe("a,b\n1,2\n");
  });

  it("may be empty", async () => {
    const saved = await save([]);
    expect(saved).toMatchObject({ path: join(folder, "a.csv"), bytes: 0, found: 0 });
    expect((await stat(saved.path)).size).toBe(0);
    expect((await fileFailure(save([]))).code).toBe(Code.AlreadyExists);
  });

  it("is written while its bytes arrive, once a MiB has been gathered", async () => {
    const large = Buffer.alloc(3 * MIB + 7, "abcdefg");
    const sizes: number[] = [];
    async function* arriving() {
      for (const [from, to] of [
        [0, MIB - 1],
        [MIB - 1, MIB],
        [MIB, 2 * MIB + 3],
        [2 * MIB + 3, large.length],
      ]) {
        yield large.subarray(from, to);
        const [name = ""] = await readdir(folder);
        const written = async () => (await stat(join(folder, name))).size;
        for (let tries = 0; to !== MIB - 1 && tries < 500 && (await written()) < Number(to); tries += 1) {
          await new Promise(setImmediate);
        }
        sizes.push(await written());
      }
    }
    const { path, sha256 } = await save(arriving());
    expect(sizes).toEqual([0, MIB, 2 * MIB + 3, large.length]);
    expect((await readFile(path)).equals(large)).toBe(true);
    expect(sha256).toBe(createHash("sha256").update(large).digest("hex"));
  });

  it("is whole where the system writes only a part at a time", async () => {
    const methods = await fileMethods(folder);
    jest.spyOn(methods, "writev").mockImplementationOnce(async function (this: FileHandle, buffers) {
      const { bytesWritten } = await this.write(Buffer.concat(buffers as Uint8Array[]), 0, 5);
      return { bytesWritten, buffers };
    });
    const { path } = await save([csv.subarray(0, 3), csv.subarray(3)]);
    expect(await readFile(path, "utf8")).toBe("a,b\n1,2\n");
  });

  it("is on disk before it has its name, and its name after", async () => {
    const methods = await fileMethods(folder);
    const { sync } = methods;
    const named: boolean[] = [];
    jest.spyOn(methods, "sync").mockImplementation(async function (this: FileHandle) {
      named.push((await this.stat()).isDirectory(), existsSync(join(folder, "a.csv")));
      return sync.call(this);
    });
    await save();
    expect(named).toEqual([false, false, true, true]);
  });

  it("is saved where the folder cannot be written to disk", async () => {
    const methods = await fileMethods(folder);
    const { sync } = methods;
    jest.spyOn(methods, "sync").mockImplementation(async function (this: FileHandle) {
      if ((await this.stat()).isDirectory()) {
        throw new Error("fsync EINVAL");
      }
      return sync.call(this);
    });
    expect(await readdir((await save()).path.slice(0, -"/a.csv".length))).toEqual(["a.csv"]);
  });

  it("is saved after those of processes that were killed were removed", async () => {
    const own = await temporaryName();
    const dead = own.replace(`-${process.pid}-`, "-4194305-");
    await writeFile(join(folder, own), "");
    await writeFile(join(folder, dead), "");
    await save();
    expect((await readdir(folder)).sort()).toEqual([own, "a.csv"].sort());
  });
});

describe("a check", () => {
  it("sees the whole file before it has its name, and what the bytes were found to be", async () => {
    const seen: unknown[] = [];
    const { found } = await save([csv], {
      verify: async (path, count) => {
        seen.push(count, await readFile(path, "utf8"), existsSync(join(folder, "a.csv")));
        return "right";
      },
    });
    expect(found).toBe("right");
    expect(seen).toEqual([8, "a,b\n1,2\n", false]);
  });

  it.each(["passing", "written"])("that fails leaves nothing behind (%s)", async (when) => {
    const reason = new Error("no CSV");
    let ended = false;
    async function* watched() {
      try {
        yield csv;
      } finally {
        ended = true;
      }
    }
    const failing = async (pieces: unknown) => {
      for await (const _ of pieces as AsyncIterable<Uint8Array>) {
        throw reason;
      }
    };
    const check = when === "passing" ? { consume: failing } : { verify: () => Promise.reject(reason) };
    await expect(save(watched(), check)).rejects.toBe(reason);
    expect(await readdir(folder)).toEqual([]);
    expect(ended).toBe(true);
  });
});

describe("bytes that fail", () => {
  it.each([0, 1])("after %d pieces leave nothing behind, and an old file as it was", async (count) => {
    const reason = new Error("cut off");
    async function* failing() {
      yield* [csv].slice(0, count);
      throw reason;
    }
    await expect(save(failing())).rejects.toBe(reason);
    expect(await readdir(folder)).toEqual([]);
    await writeFile(join(folder, "a.csv"), "mine");
    await expect(save(failing(), { force: true })).rejects.toBe(reason);
    expect(await readdir(folder)).toEqual(["a.csv"]);
    expect(await readFile(join(folder, "a.csv"), "utf8")).toBe("mine");
  });

  it("leave no file open, nor do those that are saved", async () => {
    const openFiles = async () => (await readdir("/proc/self/fd")).length;
    const before = await openFiles();
    await save();
    await fileFailure(save());
    await fileFailure(save([csv], { fileName: () => "no/a.csv" }));
    expect(await openFiles()).toBe(before);
  });
});
