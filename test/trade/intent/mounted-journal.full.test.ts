import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { openFileJournal } from "tradewire";
import { start } from "../../support/command-process.js";

/** Whether a command of root works: containers often may not mount, or make namespaces. */
function works(command: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

let folder: string;
let path: string;
const mounted: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-mounted-"));
  path = join(folder, "orders.journal");
});
afterEach(async () => {
  for (const point of mounted.splice(0)) {
    execFileSync("umount", [point]);
  }
  await rm(folder, { recursive: true });
});

const canMount = works("unshare", "--mount", "true");
const canSeparate = works("unshare", "--pid", "--fork", "--mount-proc", "true");

(canMount ? it.each : it.skip.each)([["a b/orders.journal"], ["back\\slash/orders.journal"]])(
  "a journal that is mounted by itself is refused, since its other path has another lock (%s)",
  async (name) => {
    const other = join(folder, name);
    await mkdir(join(other, ".."));
    await writeFile(path, "");
    await writeFile(other, "");
    execFileSync("mount", ["--bind", path, other]);
    mounted.push(other);
    await using journal = await openFileJournal(path);
    expect(await journal.append("a", "first", { position: 0, isLast: false })).toBe(true);
    await expect(openFileJournal(other)).rejects.toMatchObject({
      name: "FileError",
      summary: `${other} is mounted by itself, so it has another path`,
      advice: expect.stringContaining("Mount the folder of the journal instead"),
    });
  },
);

(canMount ? it : it.skip)("a journal in a mounted folder has one lock by all paths", async () => {
  const there = join(folder, "there");
  await mkdir(there);
  const here = join(folder, "here");
  await mkdir(here);
  execFileSync("mount", ["--bind", there, here]);
  mounted.push(here);
  await using _ = await openFileJournal(join(there, "orders.journal"));
  const other = join(here, "orders.journal");
  await expect(openFileJournal(other)).rejects.toThrow(`${other} is in use by process ${process.pid}`);
});

(canSeparate ? it : it.skip)(
  "a journal that a process of another namespace uses is free a minute after its last heartbeat, whatever its process id",
  async () => {
    const program = `
      const { openFileJournal } = await import("tradewire");
      globalThis.journal = await openFileJournal(${JSON.stringify(path)});
      console.log("open");
      setInterval(() => undefined, 1000);
    `;
    // In its own namespace its process id is small: here another process has that id, or none.
    const args = [
      "--pid",
      "--fork",
      "--kill-child",
      "--mount-proc",
      process.execPath,
      "--input-type=module",
      "-e",
      program,
    ];
    const holder = start("unshare", args);
    await holder.firstLine;
    await expect(openFileJournal(path)).rejects.toThrow(`${path} is in use by`);
    holder.child.kill("SIGKILL");
    await holder.ended;
    await expect(openFileJournal(path)).rejects.toThrow(`${path} is in use by`);
    expect(await readFile(`${path}.lock`, "utf8")).not.toBe("");
    const then = new Date(Date.now() - 61_000);
    await utimes(`${path}.lock`, then, then);
    await using journal = await openFileJournal(path);
    expect(await journal.open()).toEqual([]);
  },
);
