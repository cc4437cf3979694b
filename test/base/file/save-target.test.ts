import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { RequestError, type SaveTarget } from "tradewire";
import { readTarget } from "../../../src/base/file/save-target.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-test-"));
  await mkdir(join(folder, "there"));
  await mkdir(join(folder, "there.zip"));
  await writeFile(join(folder, "plain"), "");
});
afterAll(() => rm(folder, { recursive: true }));

it.each<[string, SaveTarget, string]>([
  ["a name with the extension is a file", "a.zip", "a.zip"],
  ["so is one in capitals", "a.ZIP", "a.ZIP"],
  ["a slash at the end makes a folder", "archives/", "archives/"],
  ["also behind the extension", "a.zip/", "a.zip/"],
  ["a folder is told", { folder: "archives.zip" }, "archives.zip/"],
  ["so is a file", { file: "archives" }, "archives"],
])("%s", async (_, target, path) => {
  expect(await readTarget(target, ".zip")).toBe(path);
});

it("a folder that exists is one without a slash", async () => {
  expect(await readTarget(join(folder, "there"), ".zip")).toBe(join(folder, "there"));
});

it.each<[string, () => unknown, string, string]>([
  [
    "a text that is neither",
    () => "archives",
    '"archives" is not an existing folder, and does not end in .zip',
    'Use "archives/" for a folder, or "archives.zip" for a file',
  ],
  ["a file that exists, without the extension", () => join(folder, "plain"), "is not an existing folder,", "{ file: "],
  ["another extension", () => "a.csv", '"a.csv" is not an existing folder', '"a.csv.zip"'],
  ["a folder with the name of a file", () => join(folder, "there.zip"), "is a folder, not a file", "{ folder: "],
  ["a file that is a folder", () => ({ file: `${folder}/there` }), "is a folder", "Use the path of a file"],
  ["an empty text", () => "", "the target must not be empty", "archive.zip"],
  ["nothing", () => undefined, "the target must be a folder or a file (got undefined)", "{ folder:"],
  ["a number", () => 1, "the target must be a folder or a file (got a number)", "{ folder:"],
  ["both", () => ({ file: "a", folder: "b" }), "be a folder or a file", "{ folder:"],
  ["a misspelt name", () => ({ file: "a", froce: true }), 'unknown field "froce" in the target', "Valid fields: file."],
  ["a folder that is no path", () => ({ folder: 1 }), "folder must be a non-empty path (got a number)", ""],
])("%s is refused", async (_, target, summary, advice) => {
  const reading: unknown = Reflect.apply(readTarget, undefined, [target(), ".zip"]);
  const failure = await Promise.resolve(reading).catch((reason: unknown) => reason);
  expect(failure).toBeInstanceOf(RequestError);
  expect(failure).toMatchObject({ summary: expect.stringContaining(summary), advice: expect.stringContaining(advice) });
});
