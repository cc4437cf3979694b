import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { FileError } from "../../src/errors/index.js";
import { temporaryName } from "../../src/file/temporary.js";

const { lstat, mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } = fs;

/** Whether the file system has links. There are such ones, but none that a test can mount. */
let hasLinks: boolean;
jest.unstable_mockModule("node:fs/promises", () => ({
  ...fs,
  link: (...args: Parameters<typeof fs.link>) =>
    hasLinks ? fs.link(...args) : Promise.reject(Object.assign(new Error("link EPERM"), { code: "EPERM" })),
}));
const { saveWhole } = await import("../../src/file/save-whole.js");

const MIB = 1024 * 1024;
const bytes = Buffer.from("a,b\n1,2\n");

let folder: string;
beforeEach(async () => {
  hasLinks = true;
  folder = await mkdtemp(join(tmpdir(), "tradewire-save-whole-"));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true });
});

type Where = Parameters<typeof saveWhole>[1];
type Check = Parameters<typeof saveWhole>[2];

/** Save some pieces; unless told otherwise, as `a.csv` in the folder, with a check that counts the bytes. */
function save(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array> = [bytes], given: Partial<Where & Check> = {}) {
  async function* passing() {
    yield* pieces;
  }
  return saveWhole(
    passing(),
    { target: folder, fileName: () => "a.csv", force: false, ...given },
    { passing: counted, written: (_, count) => count, ...given },
  );
}

async function counted(pieces: AsyncIterable<Uint8Array>): Promise<number> {
  let count = 0;
  for await (const { length } of pieces) {
    count += length;
  }
  return count;
}

async function failureOf(saving: Promise<unknown>): Promise<FileError> {
  const reason = await saving.then(
    () => new Error("it was saved"),
    (reason: unknown) => reason,
  );
  if (!(reason instanceof FileError)) {
    throw reason;
  }
  return reason;
}

/** What all open files inherit. */
async function fileMethods(): Promise<fs.FileHandle> {
  await using file = await open(folder);
  return Object.getPrototypeOf(file);
}

describe("a file", () => {
  it("is saved in a folder, under the name that is asked for once", async () => {
    const fileName = jest.fn(() => "a.csv");
    const saved = await save([new Uint8Array(), bytes.subarray(0, 3), bytes.subarray(3)], { fileName });
    expect(saved).toEqual({
      path: join(folder, "a.csv"),
      bytes: 8,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      found: 8,
    });
    expect(await readdir(folder)).toEqual(["a.csv"]);
    expect(await readFile(saved.path, "utf8")).toBe("a,b\n1,2\n");
    expect(fileName).toHaveBeenCalledTimes(1);
  });

  it("is saved to a path, whose name is not asked for", async () => {
    const fileName = jest.fn(() => "a.csv");
    const target = relative(process.cwd(), join(folder, "b.csv"));
    expect((await save([bytes], { target, fileName })).path).toBe(join(folder, "b.csv"));
    expect(await readdir(folder)).toEqual(["b.csv"]);
    expect(fileName).not.toHaveBeenCalled();
  });

  it.each(["/", "\\"])("is saved in a new folder where the path ends in %s", async (end) => {
    const target = join(folder, "new", "one") + end;
    expect((await save([bytes], { target })).path).toBe(join(target, "a.csv"));
    expect(await readFile(join(target, "a.csv"), "utf8")).toBe("a,b\n1,2\n");
  });

  it("may be empty", async () => {
    const saved = await save([]);
    expect(saved).toMatchObject({ path: join(folder, "a.csv"), bytes: 0, found: 0 });
    expect((await stat(saved.path)).size).toBe(0);
    expect((await failureOf(save([]))).code).toBe(Code.AlreadyExists);
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
    const methods = await fileMethods();
    jest.spyOn(methods, "writev").mockImplementationOnce(async function (this: fs.FileHandle, buffers) {
      const { bytesWritten } = await this.write(Buffer.concat(buffers as Uint8Array[]), 0, 5);
      return { bytesWritten, buffers };
    });
    const { path } = await save([bytes.subarray(0, 3), bytes.subarray(3)]);
    expect(await readFile(path, "utf8")).toBe("a,b\n1,2\n");
  });

  it("is on disk before it has its name, and its name after", async () => {
    const methods = await fileMethods();
    const { sync } = methods;
    const named: boolean[] = [];
    jest.spyOn(methods, "sync").mockImplementation(async function (this: fs.FileHandle) {
      named.push((await this.stat()).isDirectory(), existsSync(join(folder, "a.csv")));
      return sync.call(this);
    });
    await save();
    expect(named).toEqual([false, false, true, true]);
  });

  it("is saved where the folder cannot be written to disk", async () => {
    const methods = await fileMethods();
    const { sync } = methods;
    jest.spyOn(methods, "sync").mockImplementation(async function (this: fs.FileHandle) {
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
    const { found } = await save([bytes], {
      written: async (path, count) => {
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
        yield bytes;
      } finally {
        ended = true;
      }
    }
    const failing = async (pieces: unknown) => {
      for await (const _ of pieces as AsyncIterable<Uint8Array>) {
        throw reason;
      }
    };
    const check = when === "passing" ? { passing: failing } : { written: () => Promise.reject(reason) };
    await expect(save(watched(), check)).rejects.toBe(reason);
    expect(await readdir(folder)).toEqual([]);
    expect(ended).toBe(true);
  });
});

describe("bytes that fail", () => {
  it.each([0, 1])("after %d pieces leave nothing behind, and an old file as it was", async (count) => {
    const reason = new Error("cut off");
    async function* failing() {
      yield* [bytes].slice(0, count);
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
    await failureOf(save());
    await failureOf(save([bytes], { fileName: () => "no/a.csv" }));
    expect(await openFiles()).toBe(before);
  });
});

describe("a name that is taken", () => {
  it.each(["folder", "path"])("is refused, and no more bytes are asked for than needed (%s)", async (kind) => {
    await writeFile(join(folder, "a.csv"), "mine");
    let given = 0;
    async function* watched() {
      for (given = 1; given < 9; given += 1) {
        yield bytes;
      }
    }
    const target = kind === "folder" ? folder : join(folder, "a.csv");
    const error = await failureOf(save(watched(), { target }));
    expect(error.code).toBe(Code.AlreadyExists);
    expect(error.summary).toBe(`${JSON.stringify(join(folder, "a.csv"))}: it exists already`);
    expect(given).toBe(kind === "folder" ? 1 : 0);
    expect(await readdir(folder)).toEqual(["a.csv"]);
    expect(await readFile(join(folder, "a.csv"), "utf8")).toBe("mine");
  });

  it.each(["folder", "path"])("is given to the new file by force (%s)", async (kind) => {
    await writeFile(join(folder, "a.csv"), "mine");
    const target = kind === "folder" ? folder : join(folder, "a.csv");
    await save([bytes], { target, force: true });
    expect(await readdir(folder)).toEqual(["a.csv"]);
    expect(await readFile(join(folder, "a.csv"), "utf8")).toBe("a,b\n1,2\n");
  });

  it.each([true, false])(
    "is refused too where it was taken meanwhile; the file system has links: %s",
    async (links) => {
      hasLinks = links;
      async function* arriving() {
        yield bytes;
        await writeFile(join(folder, "a.csv"), "theirs");
      }
      expect((await failureOf(save(arriving()))).code).toBe(Code.AlreadyExists);
      expect(await readdir(folder)).toEqual(["a.csv"]);
      expect(await readFile(join(folder, "a.csv"), "utf8")).toBe("theirs");
    },
  );

  it("may be a link that leads nowhere, which force replaces", async () => {
    await symlink(join(folder, "elsewhere"), join(folder, "a.csv"));
    for (const target of [folder, join(folder, "a.csv")]) {
      expect((await failureOf(save([bytes], { target }))).code).toBe(Code.AlreadyExists);
    }
    await save([bytes], { force: true });
    expect((await lstat(join(folder, "a.csv"))).isFile()).toBe(true);
    expect(await readdir(folder)).toEqual(["a.csv"]);
  });

  it("is free where the file system has no links", async () => {
    hasLinks = false;
    const { path } = await save();
    expect(await readdir(folder)).toEqual(["a.csv"]);
    expect(await readFile(path, "utf8")).toBe("a,b\n1,2\n");
  });
});

describe("a file that cannot be written", () => {
  it("says that its folder does not exist", async () => {
    const error = await failureOf(save([bytes], { target: join(folder, "no", "a.csv") }));
    expect(error.summary).toBe(`${JSON.stringify(join(folder, "no"))}: it does not exist`);
  });

  it("says that a part of its path is no folder", async () => {
    await writeFile(join(folder, "file"), "");
    const target = join(folder, "file", "new");
    expect((await failureOf(save([bytes], { target: `${target}/` }))).summary).toBe(
      `${JSON.stringify(target)}: a part of the path is no folder`,
    );
  });

  it.each([
    [false, "it does not exist"],
    [true, "it does not exist"],
  ])("says why it cannot have its name (by force: %s)", async (force, why) => {
    const error = await failureOf(save([bytes], { force, fileName: () => "no/a.csv" }));
    expect(error.summary).toBe(`${JSON.stringify(join(folder, "no", "a.csv"))}: ${why}`);
    expect(await readdir(folder)).toEqual([]);
  });

  it("says that a folder has its name, by force", async () => {
    await mkdir(join(folder, "a.csv"));
    const error = await failureOf(save([bytes], { force: true }));
    expect(error.summary).toBe(`${JSON.stringify(join(folder, "a.csv"))}: it is a folder`);
    expect(await readdir(folder)).toEqual(["a.csv"]);
  });

  it.each(["writev", "sync"] as const)("says that the disk is full (%s), and leaves nothing behind", async (method) => {
    const full = () => Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
    jest.spyOn(await fileMethods(), method).mockImplementation(full);
    const error = await failureOf(save([Buffer.alloc(MIB), bytes]));
    expect(error.summary).toBe(`${JSON.stringify(folder)}: the disk is full`);
    expect(await readdir(folder)).toEqual([]);
  });
});
