import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { hostname, networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { sweepTemporary, temporaryName, threadMark, threadState } from "../../../src/base/file/temporary-files.js";

const { readFile } = fs;

/** What another system than Linux does not have, or does not let one read. */
let missing: RegExp | undefined;
Object.assign(fs, {
  readFile: (...args: Parameters<typeof readFile>) =>
    missing?.test(String(args[0])) ? Promise.reject(new Error("ENOENT")) : readFile(...args),
});
syncBuiltinESMExports();
afterAll(() => {
  Object.assign(fs, { readFile });
  syncBuiltinESMExports();
});

let folder: string;
beforeEach(() => {
  missing = undefined;
  folder = mkdtempSync(join(tmpdir(), "tradewire-temporary-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The parts of this process's own name: who, when it began, and what no other has. */
async function parts() {
  const name = await temporaryName();
  const [, owner = "", pid = "", thread = "", began = "", random = ""] =
    /^\.tradewire-([0-9a-f]{16})-(\d+)-(\d+)-(\d+)-([0-9a-f]{16})\.part$/.exec(name) ?? [];
  expect(owner).not.toBe("");
  return { owner, pid, thread, began, random };
}

/** The id of a process that has ended. */
function ended(): number {
  return spawnSync("true").pid;
}

/** Which of the files are left. */
async function left(...names: readonly string[]): Promise<string[]> {
  for (const name of names) {
    writeFileSync(join(folder, name), "");
  }
  await sweepTemporary(folder);
  return readdirSync(folder).sort();
}

describe("the name of a temporary file", () => {
  it("says which process writes it, and when that began", async () => {
    const { pid, began } = await parts();
    expect(pid).toBe(String(process.pid));
    const stat = await readFile("/proc/self/stat", "utf8");
    expect(stat.split(") ").at(-1)?.split(" ")[19]).toBe(began);
  });

  it("says on which machine, since which boot and among which process ids, as it did in earlier versions", async () => {
    const machine = await readFile("/etc/machine-id", "utf8").catch(() => "");
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const all = [hostname(), machine, boot, readlinkSync("/proc/self/ns/pid")].join("\0");
    expect((await parts()).owner).toBe(createHash("sha256").update(all).digest("hex").slice(0, 16));
  });

  it("is another one each time, by the same process of the same machine", async () => {
    const [a, b] = [await parts(), await parts()];
    expect({ ...a, random: "" }).toEqual({ ...b, random: "" });
    expect(a.random).not.toBe(b.random);
  });
});

describe("a system that does not say which process is which", () => {
  it.each([/^\/proc\/sys\//, /^\/proc\/\d+\/task\/\d+\/stat$/])(
    "has names without one (%s cannot be read)",
    async (path) => {
      missing = path;
      expect(await temporaryName()).toMatch(/^\.tradewire-[0-9a-f]{16}\.part$/);
    },
  );

  it("keeps all files", async () => {
    const { owner, random } = await parts();
    missing = /^\/proc\/sys\//;
    const names = [`.tradewire-${owner}-${ended()}-1-1-${random}.part`, "x.part"];
    expect(await left(...names)).toEqual(names);
  });

  it("may be a machine without an id", async () => {
    missing = /^\/etc\/machine-id$/;
    const { owner, random } = await parts();
    expect(await left(`.tradewire-${owner}-${ended()}-1-1-${random}.part`)).toEqual([]);
  });
});

describe("macOS and Windows", () => {
  const { platform } = process;
  afterEach(() => {
    Object.defineProperty(process, "platform", { value: platform });
  });

  it.each(["darwin", "win32"])("(%s) are told apart by their names and network addresses", async (other) => {
    const here = await parts();
    Object.defineProperty(process, "platform", { value: other });
    const there = await parts();
    const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ mac }) => mac));
    const all = [hostname(), other, ...new Set(addresses.sort())].join("\0");
    expect(there).toEqual({
      ...here,
      owner: createHash("sha256").update(all).digest("hex").slice(0, 16),
      random: expect.any(String),
    });
  });
});

describe("the name of a thread", () => {
  it("certainly says of a thread of here alone whether it runs", async () => {
    const own = (await threadMark()) ?? "";
    const { owner, pid, thread, began } = await parts();
    const states = {
      [own]: "running",
      [`${owner}-${ended()}-1-1`]: "ended",
      [`${owner}-${pid}-${ended()}-${began}`]: "ended",
      [`${owner}-${pid}-${thread}-1`]: "ended",
      [`${owner}-${pid}-0-0`]: "unknown",
      [`${"0".repeat(16)}-${pid}-1-1`]: "unknown",
      [`x${own}`]: "unknown",
      [`${own}x`]: "unknown",
      "": "unknown",
    };
    const found = Object.keys(states).map(async (mark) => [mark, await threadState(mark)]);
    expect(Object.fromEntries(await Promise.all(found))).toEqual(states);
  });

  it("says nothing where it cannot be read", async () => {
    const own = (await threadMark()) ?? "";
    missing = /^\/proc\/sys\//;
    expect(await threadState(own)).toBe("unknown");
    missing = /^\/proc\/\d+\/task\//;
    expect(await threadState(own)).toBe("unknown");
  });
});

describe("the sweep of temporary files", () => {
  it("removes those of processes that have ended", async () => {
    const { owner, random } = await parts();
    expect(await left(`.tradewire-${owner}-${ended()}-1-1234-${random}.part`)).toEqual([]);
  });

  it("removes folders of theirs with what is in them", async () => {
    const { owner, random } = await parts();
    const inside = join(folder, `.tradewire-${owner}-${ended()}-1-1234-${random}.part`);
    mkdirSync(inside);
    writeFileSync(join(inside, "a.csv"), "");
    expect(await left()).toEqual([]);
  });

  it("removes those of processes whose id was given to another", async () => {
    const { owner, pid, thread, began, random } = await parts();
    expect(await left(`.tradewire-${owner}-${pid}-${thread}-${Number(began) - 1}-${random}.part`)).toEqual([]);
  });

  it("keeps those of processes that live", async () => {
    const { owner, random } = await parts();
    const stat = await readFile("/proc/1/stat", "utf8");
    const began = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    const names = [await temporaryName(), `.tradewire-${owner}-1-1-${began}-${random}.part`].sort();
    expect(await left(...names)).toEqual(names);
  });

  it("keeps those of processes that must not be asked, or of which nothing can be read", async () => {
    const { owner, random } = await parts();
    const names = [await temporaryName(), `.tradewire-${owner}-${ended()}-1-1-${random}.part`].sort();
    const { kill } = process;
    process.kill = () => {
      throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
    };
    try {
      expect(await left(...names)).toEqual(names);
    } finally {
      process.kill = kill;
    }
  });

  it("keeps those of others, and all other files", async () => {
    const { owner, random } = await parts();
    const dead = ended();
    const names = [
      `.tradewire-${"0".repeat(16)}-${dead}-1-1-${random}.part`,
      `.tradewire-${random}.part`,
      `.tradewire-${owner}-${dead}-1-1-${random}.part.zip`,
      `x.tradewire-${owner}-${dead}-1-1-${random}.part`,
      `.tradewire-${owner}-${dead}-${random}.part`,
      `.tradewire-${owner}-${dead}-1-1-${random}0.part`,
      "chain-1-trades-1-1000.zip",
    ].sort();
    expect(await left(...names)).toEqual(names);
  });

  it("does nothing where there is no folder", async () => {
    await sweepTemporary(join(folder, "none"));
    expect(readdirSync(folder)).toEqual([]);
  });
});
