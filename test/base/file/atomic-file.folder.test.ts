import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import fc from "fast-check";
import { FileError } from "tradewire";
import { createFolder } from "../../../src/base/file/atomic-file.js";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tradewire-folder-"));
});
afterAll(() => rm(root, { recursive: true }));

const tree = async (folder: string) => (await readdir(folder, { recursive: true })).toSorted();

it("makes all folders of any path that there are not, as mkdir -p does", async () => {
  const [ours, theirs] = [join(root, "ours"), join(root, "theirs")];
  const name = fc.constantFrom("a", "b", "c", ".", "..", "d e", "é", "");
  await fc.assert(
    fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 6 }), fc.boolean(), async (names, isRelative) => {
      const below = ["x", "x", "x", "x", "x", "x", ...names].join("/");
      const path = join(ours, below);
      createFolder(isRelative ? relative("", path) : path);
      await mkdir(join(theirs, below), { recursive: true });
      expect(await tree(ours)).toEqual(await tree(theirs));
    }),
    { numRuns: 50 },
  );
});

it("says what stands in the way", async () => {
  await writeFile(join(root, "file"), "");
  await symlink(join(root, "nowhere"), join(root, "link"));
  const failing = (path: string) => {
    try {
      createFolder(join(root, path));
    } catch (reason) {
      expect(reason).toBeInstanceOf(FileError);
      const [summary = "", advice] = String(reason).slice(`FileError: ${root}/${path}: `.length).split("\n");
      return `${summary}\n${advice}`;
    }
    return "made";
  };
  expect(failing("file")).toBe("file already exists\nUse the path of a folder: this is a file.");
  expect(failing("file/folder")).toBe("a part of the path is not a folder\nChoose another path.");
  expect(failing("link")).toBe("no such file or directory\nChoose another folder: this one cannot be created.");
  expect(failing("link/folder")).toBe("no such file or directory\nChoose another folder: this one cannot be created.");
});
