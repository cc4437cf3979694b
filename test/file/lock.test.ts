import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { FileError, RequestError } from "../../src/errors/index.js";
import { lockFolder } from "../../src/file/lock.js";
import { processMark } from "../../src/file/temporary.js";
import { failureOf } from "../support/listing-clients.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-lock-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("lockFolder", () => {
  it("gives a folder to one at a time, also of the same process", async () => {
    const first = await lockFolder(folder);
    const failure = await failureOf(() => lockFolder(folder));
    expect(failure).toBeInstanceOf(RequestError);
    expect(failure).toMatchObject({ summary: `${JSON.stringify(folder)} is in use by another export` });
    await first[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
    await (await lockFolder(folder))[Symbol.asyncDispose]();
  });

  it("gives it to one of many that ask at once", async () => {
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder)));
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("takes that of a process that has ended", async () => {
    const [owner, , began] = ((await processMark()) ?? "").split("-");
    const child = spawn("true");
    await once(child, "exit");
    await writeFile(join(folder, "tradewire.lock"), `${owner}-${child.pid}-${began} x`);
    await (await lockFolder(folder))[Symbol.asyncDispose]();
  });

  it("takes that of nobody knows whom once it is a minute old", async () => {
    const path = join(folder, "tradewire.lock");
    await writeFile(path, "");
    expect(await failureOf(() => lockFolder(folder))).toBeInstanceOf(RequestError);
    const then = new Date(Date.now() - 61_000);
    await utimes(path, then, then);
    await (await lockFolder(folder))[Symbol.asyncDispose]();
  });

  it("leaves one that was taken over", async () => {
    const first = await lockFolder(folder);
    await writeFile(join(folder, "tradewire.lock"), "another one's");
    await first[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual(["tradewire.lock"]);
  });

  it("says where a lock cannot be written", async () => {
    expect(await failureOf(() => lockFolder(join(folder, "none")))).toBeInstanceOf(FileError);
  });
});
