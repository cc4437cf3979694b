import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { FileError } from "tradewire";
import { inMemory, openFile, readSource, type Seekable } from "../../../src/data/zip/archive-source.js";
import { noise } from "../../support/archives.js";
import { given, taken, textOf } from "../../support/taken.js";

const KIB = 1024;
const PIECE = 256 * KIB;
/** Whether there is a program that opens a terminal. */
const hasScript = spawnSync("script", ["--version"]).status === 0;
const large = noise(2 * PIECE + 100);
let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-seekable-"));
  path = join(folder, "large");
  writeFileSync(path, large);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Check what memory and a file have in common. */
async function checkSeekable(archive: Seekable): Promise<void> {
  expect(archive.size).toBe(large.length);
  expect((await archive.read(0, 10)).equals(large.subarray(0, 10))).toBe(true);
  expect((await archive.read(300, 10)).equals(large.subarray(300, 310))).toBe(true);
  expect((await archive.read(large.length - 5, 5)).equals(large.subarray(-5))).toBe(true);
  expect((await archive.read(0, large.length)).equals(large)).toBe(true);
  expect((await archive.read(large.length, 0)).length).toBe(0);
  for (const [position, length] of [
    [-1, 2],
    [large.length - 5, 6],
    [large.length + 1, 0],
    [0, 2 ** 53],
  ] as const) {
    await expect(archive.read(position, length)).rejects.toThrow("the position of a record is outside the archive");
  }
  for (const position of [0, 5, PIECE, large.length - 1, large.length]) {
    const { values } = await taken(archive.stream(position));
    expect([position, Buffer.concat(values).equals(large.subarray(position))]).toEqual([position, true]);
  }
  expect((await taken(archive.stream(large.length))).values).toEqual([]);
  const sizes = (await taken(archive.stream(0))).values.map(({ length }) => length);
  expect(sizes).toEqual([PIECE, PIECE, 100]);
}

/** The files in the folder that this process holds open. */
function openPaths(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(folder) ? [target] : [];
    } catch {
      return [];
    }
  });
}

describe("an archive in memory", () => {
  it("is read at any position", () => checkSeekable(inMemory(large)));

  it("is not copied", async () => {
    const bytes = Uint8Array.from(Buffer.from("--abc--"));
    const archive = inMemory(bytes.subarray(2, 5));
    expect(await textOf(archive.stream(0))).toBe("abc");
    bytes[2] = 0x7a;
    expect((await archive.read(0, 3)).toString()).toBe("zbc");
  });
});

describe("an archive in a file", () => {
  async function opened(check: (archive: Seekable) => Promise<void>): Promise<void> {
    await using file = await openFile(path);
    expect(file.archive).toBeDefined();
    if (file.archive !== undefined) {
      await check(file.archive);
    }
  }

  it("is read at any position", () => opened(checkSeekable));

  it("is read with a first piece of the size that is wanted", () =>
    opened(async (archive) => {
      const first = async (wanted: number) => (await archive.stream(7, wanted).next()).value?.length;
      expect([await first(100), await first(PIECE + 1)]).toEqual([100, PIECE]);
      const { values } = await taken(archive.stream(7, 100));
      expect(values.map(({ length }) => length)).toEqual([100, PIECE, PIECE - 7]);
      expect(Buffer.concat(values).equals(large.subarray(7))).toBe(true);
    }));

  it("is read from its start as a stream", async () => {
    await using file = await openFile(path);
    const { values } = await taken(file.stream());
    expect(Buffer.concat(values).equals(large)).toBe(true);
    expect(values.map(({ length }) => length)).toEqual([PIECE, PIECE, 100]);
  });

  it("is closed with its use, and not before", async () => {
    const file = await openFile(path);
    expect(openPaths()).toEqual([path]);
    await file[Symbol.asyncDispose]();
    expect(openPaths()).toEqual([]);
    await expect(file.archive?.read(0, 1)).rejects.toBeInstanceOf(FileError);
    await file[Symbol.asyncDispose]();
  });

  it("does not give bytes that were cut off meanwhile", async () => {
    const shrinking = join(folder, "shrinking");
    writeFileSync(shrinking, "0123456789");
    await using file = await openFile(shrinking);
    truncateSync(shrinking, 5);
    await expect(file.archive?.read(2, 8)).rejects.toThrow("outside the archive");
    expect((await file.archive?.read(2, 3))?.toString()).toBe("234");
  });
});

describe("a path", () => {
  it("that leads nowhere, or to a folder, is an error", async () => {
    for (const [wrong, code, message] of [
      [join(folder, "none"), Code.NotFound, "file not found\nCheck the path."],
      [folder, Code.AlreadyExists, "is a folder\nEnter the path of a file."],
    ] as const) {
      const opening = openFile(wrong);
      await expect(opening).rejects.toBeInstanceOf(FileError);
      await expect(opening).rejects.toMatchObject({
        code,
        message: expect.stringContaining(`${wrong}: ${message}`),
      });
      expect(openPaths()).toEqual([]);
    }
  });

  it("of a device is a stream", async () => {
    await using none = await openFile("/dev/null");
    expect([none.archive, await textOf(none.stream())]).toEqual([undefined, ""]);
    await using zeros = await openFile("/dev/zero");
    for await (const bytes of zeros.stream()) {
      expect([bytes.length, bytes[0]]).toEqual([PIECE, 0]);
      break;
    }
  });

  (hasScript ? it : it.skip)("of a terminal is left while it waits for a line", async () => {
    const terminal = spawn("script", ["-qec", "tty; exec sleep 1000", "/dev/null"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    const ended = once(terminal, "close");
    const [line] = await once(terminal.stdout, "data");
    const file = await openFile(String(line).trim());
    expect(file.archive).toBeUndefined();
    const reading = taken(file.stream());
    const left = file[Symbol.asyncDispose]().then(() => "left");
    const first = await Promise.race([left, setImmediate("waits")]);
    terminal.kill("SIGKILL"); // Its end is that of the read.
    await Promise.all([reading, left, ended]);
    expect(first).toBe("left");
  });

  it("of a pipe is a stream, which nobody waits for where it is not taken", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const unread = await openFile(pipe);
    expect(unread.archive).toBeUndefined();
    await unread[Symbol.asyncDispose]();
    const file = await openFile(pipe);
    const text = textOf(file.stream());
    const writer = await open(pipe, "w");
    await writer.write("a\n1\n");
    await writer.close();
    expect(await text).toBe("a\n1\n");
    await file[Symbol.asyncDispose]();
    const left = await openFile(pipe);
    const waiting = taken(left.stream());
    await left[Symbol.asyncDispose]();
    expect((await waiting).values).toEqual([]);
  });
});

describe("readSource", () => {
  const seekable = async function* ({ size, stream }: Seekable) {
    yield `${size} seekable`;
    yield await textOf(stream(0));
  };
  const streamed = async function* (stream: AsyncIterable<Uint8Array>) {
    yield "streamed";
    yield await textOf(stream);
  };
  const read = async (source: Parameters<typeof readSource>[0]) =>
    (await taken(readSource(source, seekable, streamed))).values;

  it("reads each source in the way that it allows", async () => {
    const small = join(folder, "small");
    writeFileSync(small, "abc");
    expect(await read(small)).toEqual(["3 seekable", "abc"]);
    expect(await read(Buffer.from("abc"))).toEqual(["3 seekable", "abc"]);
    expect(await read(given([Buffer.from("abc")]))).toEqual(["streamed", "abc"]);
    expect(await read("/dev/null")).toEqual(["streamed", ""]);
  });

  it("keeps a file open while its values are taken", async () => {
    const values = readSource(path, seekable, streamed);
    await values.next();
    expect(openPaths()).toEqual([path]);
    await values.return();
    expect(openPaths()).toEqual([]);
  });

  it("fails where there is no file", async () => {
    const { error } = await taken(readSource(join(folder, "none"), seekable, streamed));
    expect(error).toBeInstanceOf(FileError);
  });
});
