import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { csvZip } from "../support/archives.js";
import { run } from "../support/command.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-devices-"));
  await writeFile(join(folder, "a.zip"), await csvZip());
});
afterAll(() => rm(folder, { recursive: true }));

const nowhere = ["--grpc-url", "http://127.0.0.1:1"];
const zero = "/dev/zero";

// A device such as /dev/zero has no end: what reads it to the end takes all memory.
describe("a device in place of a file is refused", () => {
  it.each([
    ["sign", zero, ...nowhere],
    ["submit", zero, ...nowhere],
    ["verify", zero, ...nowhere],
    ["outcome", "--signed", zero, ...nowhere],
    ["call", "ListMarkets", `@${zero}`, ...nowhere],
    ["call", "ListMarkets", "--proto", zero, ...nowhere],
    ["assemble", zero],
    ["rows", zero],
    ["inspect", zero],
    ["merge", "a.zip", zero, "--to", "m.zip"],
    ["devnode", "--grpc-port", "0", "--rest-port", "0", "--genesis", `trades=${zero}`],
    ["follow", "--table", "trades", "--cursor-file", zero, ...nowhere],
  ])("%s %s %s", async (...args) => {
    const { code, out, err } = await run(args, { cwd: folder });
    expect({ code, out, err }).toMatchObject({ code: 1, out: "" });
    expect(err).toMatch(/(^|\n)tradewire: \/dev\/zero: a device, not a file\nUse the path of a file/);
  });

  it.each([
    ["keys", "show", zero],
    ["config", "--config", zero],
  ])("%s %s %s", async (...args) => {
    const { code, err } = await run(args, { cwd: folder });
    expect(code).not.toBe(0);
    expect(err).toMatch(/"?\/dev\/zero"?(: not a regular file| is neither a file nor a pipe)/);
  });

  it("for output, even by --force", async () => {
    const { code, err } = await run(["assemble", "capture.json", "--to", "/dev/zero", "--force"], { cwd: folder });
    expect([code, err]).toEqual([2, expect.stringContaining("is not an existing folder, and does not end in .zip")]);
    expect(await readdir(folder)).toEqual(["a.zip"]);
  });
});

it("the null device is an empty file, as before", async () => {
  const { code, err } = await run(["sign", "/dev/null", ...nowhere], { cwd: folder });
  expect([code, err]).toEqual([2, expect.stringContaining("not valid JSON")]);
});

it("text without end is refused before it fills the memory", async () => {
  async function* endless() {
    for (;;) {
      yield Buffer.alloc(4 * 1024 * 1024, " ");
    }
  }
  const { Readable } = await import("node:stream");
  const { code, err } = await run(["sign", "-", ...nowhere], { input: Readable.from(endless()) });
  expect([code, err]).toEqual([2, expect.stringContaining("standard input exceeds the request limit of")]);
});
