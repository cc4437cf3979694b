import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { csv, fileFailure, fileMethods, saveInto } from "./saving.js";

const { chmod, chown, link, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } = fs;

/** Whether the file system has links. There are such ones, but none that a test can mount. */
let hasLinks: boolean;
Object.assign(fs, {
  link: (...args: Parameters<typeof link>) =>
    hasLinks ? link(...args) : Promise.reject(Object.assign(new Error("link EPERM"), { code: "EPERM" })),
});
syncBuiltinESMExports();
afterAll(() => {
  Object.assign(fs, { link });
  syncBuiltinESMExports();
});

const MIB = 1024 * 1024;

let folder: string;
beforeEach(async () => {
  hasLinks = true;
  folder = await mkdtemp(join(tmpdir(), "tradewire-save-whole-"));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true });
});

const save = (pieces?: Parameters<typeof saveInto>[1], given?: Parameters<typeof saveInto>[2]) =>
  saveInto(folder, pieces, given);

describe("a name that is taken", () => {
  it.each(["folder", "path"])("is refused, and no more bytes are asked for than needed (%s)", async (kind) => {
    await writeFile(join(folder, "a.csv"), "mine");
    let given = 0;
    async function* watched() {
      for (given = 1; given < 9; given += 1) {
        yield csv;
      }
    }
    const target = kind === "folder" ? folder : join(folder, "a.csv");
    const error = await fileFailure(save(watched(), { target }));
    expect(error.code).toBe(Code.AlreadyExists);
    expect(error.message).toContain(
      `${join(folder, "a.csv")}: file already exists\nChoose another name, or use force to overwrite the file.`,
    );
    expect(given).toBe(kind === "folder" ? 1 : 0);
    expect(await readdir(folder)).toEqual(["a.csv"]);
    expect(await readFile(join(folder, "a.csv"), "utf8")).toBe("mine");
  });

  it.each(["folder", "path"])("is given to the new file by force (%s)", async (kind) => {
    await writeFile(join(folder, "a.csv"), "mine");
    const target = kind === "folder" ? folder : join(folder, "a.csv");
    await save([csv], { target, force: true });
    expect(await readdir(folder)).toEqual(["a.csv"]);
    expect(await readFile(join(folder, "a.csv"), "utf8")).toBe("a,b\n1,2\n");
  });

  it.each([true, false])(
    "is refused too where it was taken meanwhile; the file system has links: %s",
    async (links) => {
      hasLinks = links;
      async function* arriving() {
        yield csv;
        await writeFile(join(folder, "a.csv"), "theirs");
      }
      expect((await fileFailure(save(arriving()))).code).toBe(Code.AlreadyExists);
      expect(await readdir(folder)).toEqual(["a.csv"]);
      expect(await readFile(join(folder, "a.csv"), "utf8")).toBe("theirs");
    },
  );

  it("may be a link that leads nowhere, through which force writes", async () => {
    await symlink(join(folder, "elsewhere"), join(folder, "a.csv"));
    for (const target of [folder, join(folder, "a.csv")]) {
      expect((await fileFailure(save([csv], { target }))).code).toBe(Code.AlreadyExists);
    }
    await save([csv], { force: true });
    expect((await lstat(join(folder, "a.csv"))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(folder, "elsewhere"), "utf8")).toBe("a,b\n1,2\n");
    expect((await readdir(folder)).sort()).toEqual(["a.csv", "elsewhere"]);
  });

  it.each(["folder", "path"])(
    "may be a chain of links, through which force writes to their file (%s)",
    async (kind) => {
      const other = join(folder, "other");
      await mkdir(other);
      await writeFile(join(other, "real"), "theirs", { mode: 0o640 });
      await symlink("real", join(other, "link"));
      await symlink(join("other", "link"), join(folder, "a.csv"));
      const target = kind === "folder" ? folder : join(folder, "a.csv");
      expect(await save([csv], { target, force: true })).toMatchObject({ path: join(folder, "a.csv") });
      expect((await lstat(join(folder, "a.csv"))).isSymbolicLink()).toBe(true);
      expect((await lstat(join(other, "link"))).isSymbolicLink()).toBe(true);
      expect(await readFile(join(other, "real"), "utf8")).toBe("a,b\n1,2\n");
      expect([(await readdir(folder)).sort(), (await readdir(other)).sort()]).toEqual([
        ["a.csv", "other"],
        ["link", "real"],
      ]);
    },
  );

  it.each([0o600, 0o640, 0o666])("keeps its mode by force: %o", async (mode) => {
    await writeFile(join(folder, "a.csv"), "mine");
    await chmod(join(folder, "a.csv"), mode);
    await save([csv], { force: true });
    expect((await lstat(join(folder, "a.csv"))).mode & 0o777).toBe(mode);
  });

  // Only root may give a file to others.
  (process.getuid?.() === 0 ? it : it.skip)("keeps its owner and group by force", async () => {
    await writeFile(join(folder, "a.csv"), "mine");
    await chown(join(folder, "a.csv"), 12_345, 54_321);
    await chmod(join(folder, "a.csv"), 0o660);
    await save([csv], { force: true });
    expect(await lstat(join(folder, "a.csv"))).toMatchObject({ uid: 12_345, gid: 54_321, mode: 0o100660 });
  });

  it("grants another group no more than everyone where the group cannot be kept", async () => {
    await writeFile(join(folder, "a.csv"), "mine");
    await chmod(join(folder, "a.csv"), 0o664);
    const refused = () => Promise.reject(Object.assign(new Error("EPERM"), { code: "EPERM" }));
    jest.spyOn(await fileMethods(folder), "chown").mockImplementation(refused);
    await save([csv], { force: true });
    expect((await lstat(join(folder, "a.csv"))).mode & 0o777).toBe(0o644);
  });

  it.each(["folder", "path"])("is not replaced where it is a pipe, also by force (%s)", async (kind) => {
    execFileSync("mkfifo", [join(folder, "a.csv")]);
    const target = kind === "folder" ? folder : join(folder, "a.csv");
    const error = await fileFailure(save([csv], { target, force: true }));
    expect(error.summary).toBe(`${join(folder, "a.csv")}: a pipe, not a file`);
    expect((await lstat(join(folder, "a.csv"))).isFIFO()).toBe(true);
    expect(await readdir(folder)).toEqual(["a.csv"]);
  });

  it("is not replaced where it is a device, also through a link", async () => {
    await symlink("/dev/null", join(folder, "a.csv"));
    const error = await fileFailure(save([csv], { force: true }));
    expect(error.summary).toBe(`${join(folder, "a.csv")}: a device, not a file`);
    expect((await lstat("/dev/null")).isCharacterDevice()).toBe(true);
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
    const error = await fileFailure(save([csv], { target: join(folder, "no", "a.csv") }));
    expect(error.code).toBe(Code.NotFound);
    expect(error.message).toContain(
      `${join(folder, "no")}: no such file or directory\nCreate the folder first, or choose another path.`,
    );
  });

  it("says that a part of its path is no folder", async () => {
    await writeFile(join(folder, "file"), "");
    const target = join(folder, "file", "new");
    expect((await fileFailure(save([csv], { target: `${target}/` }))).summary).toBe(
      `${target}: a part of the path is not a folder`,
    );
    expect((await fileFailure(save([csv], { target }))).summary).toContain("a part of the path is not a folder");
  });

  it.each([
    [false, "no such file or directory"],
    [true, "no such file or directory"],
  ])("says why it cannot have its name (by force: %s)", async (force, why) => {
    const error = await fileFailure(save([csv], { force, fileName: () => "no/a.csv" }));
    expect(error.summary).toBe(`${join(folder, "no", "a.csv")}: ${why}`);
    expect(await readdir(folder)).toEqual([]);
  });

  it("says that a folder has its name, by force", async () => {
    await mkdir(join(folder, "a.csv"));
    const error = await fileFailure(save([csv], { force: true }));
    expect(error.summary).toBe(`${join(folder, "a.csv")}: is a folder`);
    expect(await readdir(folder)).toEqual(["a.csv"]);
  });

  it.each(["writev", "sync"] as const)("says that the disk is full (%s), and leaves nothing behind", async (method) => {
    const full = () => Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
    jest.spyOn(await fileMethods(folder), method).mockImplementation(full);
    const error = await fileFailure(save([Buffer.alloc(MIB), csv]));
    expect(error.summary).toBe(`${folder}: the disk is full`);
    expect(await readdir(folder)).toEqual([]);
  });
});
