import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { FileError } from "tradewire";
import { openPipe } from "../../../src/data/zip/archive-source.js";
import { textOf } from "../../support/taken.js";

let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-pipe-"));
  path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("a pipe", () => {
  it("is opened before it has a writer, and read to that one's end", async () => {
    const pipe = openPipe(path);
    expect([pipe.readable, pipe.writable]).toEqual([true, false]);
    const writer: FileHandle = await open(path, "w");
    await writer.write("a\n1\n");
    await writer.close();
    expect(await textOf(pipe)).toBe("a\n1\n");
  });

  it("can be left before a writer came", () => {
    const pipe = openPipe(path);
    pipe.destroy();
    expect(pipe.destroyed).toBe(true);
  });

  it("that does not exist is an error that says where to look", () => {
    const missing = join(folder, "none");
    let error: unknown;
    try {
      openPipe(missing);
    } catch (reason) {
      error = reason;
    }
    expect(error).toBeInstanceOf(FileError);
    expect(error).toMatchObject({
      code: Code.NotFound,
      message: `${missing}: file not found\nCheck the path.`,
    });
  });
});
