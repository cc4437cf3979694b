import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Lock, sweepLocks, takeLock } from "../../../src/base/file/lock-file.js";
import { builtProgram } from "../../support/built-program.js";
import { threadMark } from "./inside.js";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-lock-"));
  path = join(folder, "lock");
});
afterEach(() => rm(folder, { recursive: true }));

async function taken(): Promise<Lock> {
  const lock = await takeLock(path);
  if (!lock.held) {
    throw new Error(`held by ${lock.pid}`);
  }
  return lock;
}

/** The hash in the name of a second lock. */
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 32);

/** The claim of a process that has ended. */
async function staleClaim(): Promise<string> {
  const [owner, , , began] = ((await threadMark()) ?? "").split("-");
  const child = spawn("true");
  await once(child, "exit");
  return `${owner}-${child.pid}-${child.pid}-${began} x`;
}

describe("takeLock", () => {
  it("gives a lock to one at a time, also of the same process", async () => {
    const first = await taken();
    expect(await takeLock(path)).toEqual({ held: false, pid: process.pid });
    expect(first.isHeld()).toBe(true);
    await first[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
    await (await taken())[Symbol.asyncDispose]();
  });

  it("gives it to one of many that ask at once", async () => {
    const asked = await Promise.all(Array.from({ length: 20 }, () => takeLock(path)));
    expect(asked.filter(({ held }) => held)).toHaveLength(1);
  });

  it("takes that of a process that has ended, and leaves nothing else behind", async () => {
    await writeFile(path, await staleClaim());
    const lock = await taken();
    expect(await readdir(folder)).toEqual(["lock"]);
    await lock[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
  });

  // The id of a process that ended may be another one's by now, so it does not say that the lock's process runs.
  it.each([
    ["of nobody knows whom", ""],
    ["with a bare process id", String(process.pid)],
    ["of another machine", "0123456789abcdef-1-1-1 x"],
  ])("takes that %s once it is a minute old", async (_, text) => {
    await writeFile(path, text);
    expect(await takeLock(path)).toMatchObject({ held: false });
    const then = new Date(Date.now() - 61_000);
    await utimes(path, then, then);
    await (await taken())[Symbol.asyncDispose]();
  });

  it("is swept of what a process left that was killed in its release, and of nothing else", async () => {
    const second = (text: string) =>
      writeFileSync(join(folder, `lock.${hashOf(text)}`), text === "living" ? living : ended);
    const [ended, living] = [await staleClaim(), `${await threadMark()} x`];
    second("released"); // Its lock is gone.
    await sweepLocks(folder);
    expect(await readdir(folder)).toEqual([]);

    await writeFile(path, ended);
    second("living");
    second(ended); // Who wants the stale lock takes this one.
    await writeFile(join(folder, `lock.${"0".repeat(32)}.zip`), ended);
    second("released");
    const kept = [`lock.${hashOf("living")}`, `lock.${hashOf(ended)}`, `lock.${"0".repeat(32)}.zip`, "lock"];
    await sweepLocks(folder);
    expect((await readdir(folder)).toSorted()).toEqual(kept.toSorted());
  });

  it("is swept as far as it can be read", async () => {
    const unreadable = `lock.${hashOf("unreadable")}`;
    const obsolete = `other.${hashOf("obsolete")}`;
    await mkdir(join(folder, unreadable));
    await writeFile(join(folder, obsolete), await staleClaim());
    await sweepLocks(folder);
    expect(await readdir(folder)).toEqual([unreadable]);
    await sweepLocks(join(folder, "none"));
  });

  it("leaves one that was taken over", async () => {
    const first = await taken();
    await copyFile(path, join(folder, "first"));
    await rm(path);
    await writeFile(path, "another one's");
    expect(first.isHeld()).toBe(false);
    await first[Symbol.asyncDispose]();
    expect(await readFile(path, "utf8")).toBe("another one's");
  });

  it("is released without an error where its folder was removed", async () => {
    const lock = await taken();
    await rm(folder, { recursive: true });
    await lock[Symbol.asyncDispose]();
    await mkdir(folder);
    expect(lock.isHeld()).toBe(false);
  });

  it("says where a lock cannot be written", async () => {
    await expect(takeLock(join(folder, "none", "lock"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});

/** How many trials are made: 2,000 show rare races, too. */
const TRIALS = Number(process.env["TRADEWIRE_LOCK_TRIALS"] ?? 100);
const PROCESSES = 4;

describe("a lock that several processes want at once", () => {
  let program: string;
  let children: ChildProcess[] = [];
  beforeAll(async () => {
    program = await builtProgram("test/base/file/lock-program.ts", "lock-program");
    children = Array.from({ length: PROCESSES }, () => fork(program));
  });
  afterAll(async () => {
    for (const child of children) {
      child.kill();
    }
    await rm(program);
  });

  /** Tells processes to take the lock; gives those that hold it then. */
  async function holders(asked: readonly ChildProcess[]): Promise<ChildProcess[]> {
    const answers = asked.map(async (child) => {
      const answered = once(child, "message");
      child.send({ take: path, afterMs: Math.random() * 0.5 });
      const [{ isHeld, failed }] = await answered;
      expect(failed).toBeUndefined();
      return isHeld === true ? [child] : [];
    });
    return (await Promise.all(answers)).flat();
  }

  async function releaseAll(): Promise<void> {
    await Promise.all(
      children.map((child) => {
        const answered = once(child, "message");
        child.send({});
        return answered;
      }),
    );
  }

  it("is given up by a holder that can write nothing, as on a full disk: others have it after a minute", async () => {
    const [holder] = children;
    if (holder?.pid === undefined) {
      throw new Error("there is no process");
    }
    expect(await holders([holder])).toEqual([holder]);
    const maxFileSize = (bytes: string) => execFileSync("prlimit", [`--pid=${holder.pid}`, `--fsize=${bytes}:`]);
    maxFileSize("0"); // No file may grow: setrlimit(2), RLIMIT_FSIZE.
    const answered = once(holder, "message");
    holder.send({});
    const [answer] = await answered;
    maxFileSize("unlimited");
    expect(answer).toEqual({ isHeld: false });
    expect(await readFile(path, "utf8")).toBe(""); // Nobody's, although the process lives.
    expect(await takeLock(path)).toEqual({ held: false, pid: undefined });
    const then = new Date(Date.now() - 61_000);
    await utimes(path, then, then);
    await (await taken())[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
  });

  it(`has one holder in each of ${TRIALS} trials: where it is stale, free, or its holder is killed`, async () => {
    const stale = await staleClaim();
    const counts: Record<number, number> = {};
    for (let trial = 0; trial < TRIALS; trial += 1) {
      if (trial % 5 !== 0) {
        await writeFile(path, `${stale}${trial}`);
      }
      let held = await holders(children);
      if (trial % 10 === 1 && held.length === 1) {
        const [killed] = held;
        const others = children.filter((child) => child !== killed);
        const ended = killed && once(killed, "exit");
        killed?.kill("SIGKILL");
        await ended;
        held = await holders(others);
        children = [...others, fork(program)];
      }
      counts[held.length] = (counts[held.length] ?? 0) + 1;
      await releaseAll();
      expect(await readdir(folder)).toEqual([]);
    }
    expect(counts).toEqual({ 1: TRIALS });
  });
});
