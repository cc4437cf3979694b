import {
  appendFile,
  type FileHandle,
  link,
  mkdtemp,
  open,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { openFileJournal } from "tradewire";
import { journalContract } from "tradewire/journal/contract";

let path: string;
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), "tradewire-journal-")), "orders.journal");
});
afterEach(() => rm(join(path, ".."), { recursive: true }));

const first = { position: 0, isLast: false };

describe("a journal in a file", () => {
  it.each(journalContract)("$name", ({ run }) => run({ openJournal: () => openFileJournal(path) }));

  it("can be read by its user alone", async () => {
    await using _ = await openFileJournal(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("leaves out a last line that a crash has cut off", async () => {
    {
      await using journal = await openFileJournal(path);
      await journal.append("a", "first", first);
    }
    const whole = await readFile(path, "utf8");
    await appendFile(path, whole.slice(0, -10));
    await using journal = await openFileJournal(path);
    expect(await journal.append("b", "first", first)).toBe(true);
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(["a", "b"]);
  });

  it.each([
    ["not JSON\n", "line 1: invalid JSON"],
    ["{}\n", "line 1: not a journal entry"],
    ["the words of a key, without a line feed", "line 1: not a journal entry"],
    [
      `${JSON.stringify({ id: "a", position: 1, isLast: false, entry: "" })}\n`,
      'line 1: not the next entry of intent "a"',
    ],
  ])("refuses a file that is no journal: %j", async (text, problem) => {
    await writeFile(path, text);
    const failed = openFileJournal(path);
    await expect(failed).rejects.toThrow(problem);
    await expect(failed).rejects.toMatchObject({ name: "FileError" });
    expect(await readFile(path, "utf8")).toBe(text);
    await rm(path);
    await using _ = await openFileJournal(path); // The lock is free.
  });

  it("is used by one process at a time", async () => {
    await using _ = await openFileJournal(path);
    await expect(openFileJournal(path)).rejects.toMatchObject({
      name: "FileError",
      summary: `${path} is in use by process ${process.pid}`,
    });
  });

  it("is used by one process at a time, also where it has another name", async () => {
    const other = join(path, "..", "current.journal");
    await symlink("orders.journal", other);
    {
      await using _ = await openFileJournal(other); // It creates the file that the link names.
      await expect(openFileJournal(path)).rejects.toThrow(`${path} is in use by process ${process.pid}`);
    }
    await using _ = await openFileJournal(path);
    await expect(openFileJournal(other)).rejects.toThrow(`${other} is in use by process ${process.pid}`);
  });

  it("takes no entries once it is closed, or its lock is lost", async () => {
    const closed = await openFileJournal(path);
    await closed[Symbol.asyncDispose]();
    await expect(closed.append("a", "first", first)).rejects.toThrow(`${path} was closed`);
    await using journal = await openFileJournal(path);
    await rm(`${path}.lock`);
    await expect(journal.append("a", "first", first)).rejects.toThrow(`another process has taken over ${path}`);
    expect(await readFile(path, "utf8")).toBe("");
  });

  it("refuses a file with several names, whose locks are not the same", async () => {
    const other = join(path, "..", "copy.journal");
    await writeFile(path, "");
    await link(path, other);
    await expect(openFileJournal(path)).rejects.toMatchObject({
      name: "FileError",
      summary: `${path} has other names, which are hard links`,
    });
    await rm(other);
    await using _ = await openFileJournal(path);
  });

  it("takes no entries once it was moved away: the next program would not find them", async () => {
    await using journal = await openFileJournal(path);
    await journal.append("a", "first", first);
    await rename(path, `${path}.1`);
    await expect(journal.append("b", "first", first)).rejects.toThrow(`${path} was moved, removed or replaced`);
    await writeFile(path, "");
    await expect(journal.append("b", "first", first)).rejects.toThrow(`${path} was moved, removed or replaced`);
    expect(await readFile(path, "utf8")).toBe("");
  });

  it("keeps nothing of entries that were not appended as the disk was full", async () => {
    const journal = await openFileJournal(path);
    await journal.append("a", "first", first);
    const whole = await readFile(path, "utf8");
    const probe = await open(path);
    const handles: FileHandle = Object.getPrototypeOf(probe);
    await probe.close();
    const append = jest.spyOn(handles, "appendFile").mockImplementationOnce(async (lines) => {
      await appendFile(path, String(lines).slice(0, -10)); // The line of b, and most of that of c.
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    });
    try {
      const ended = await Promise.allSettled(["b", "c"].map((id) => journal.append(id, "first", first)));
      expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    } finally {
      append.mockRestore();
    }
    expect(await readFile(path, "utf8")).toBe(whole);
    await journal[Symbol.asyncDispose]();
    await using next = await openFileJournal(path);
    expect(await next.open()).toEqual(["a"]);
    expect(await next.append("b", "first", first)).toBe(true);
  });

  it("says where it cannot be written", async () => {
    await expect(openFileJournal(join(path, "nowhere", "journal"))).rejects.toMatchObject({ name: "FileError" });
  });
});
