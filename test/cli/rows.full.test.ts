import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { zipOf } from "../support/archives.js";
import { run } from "../support/command.js";
import { main, shell } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { hasScript, onTerminal } from "../support/terminal.js";

const FILE = "chain-1-trades-1-1-1000.csv";
const ROWS = 50_000;
/** What makes letters bold, and plain again. */
const STYLE = new RegExp(`${String.fromCharCode(27)}\\[\\d*m`, "g");

let folder: string;
const path = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-rows-"));
  await writeFile(
    path("one.zip"),
    await zipOf({ [FILE]: Buffer.from('id,note\n1,\n2,""\n3,"a,""b""\r\nc"\n') }, { streamed: true }),
  );
  const large = Array.from({ length: ROWS }, (_, index) => `${index},row number ${index}\n`).join("");
  const archive = await zipOf({ [FILE]: Buffer.from(`id,note\n${large}`) }, { streamed: true });
  await writeFile(path("large.zip"), archive);
  await writeFile(path("cut.zip"), archive.subarray(0, archive.length / 2));
});
afterAll(() => rm(folder, { recursive: true }));

/** Waits until a process has a file open. */
async function opened(pid: number, file: string): Promise<void> {
  if (process.platform !== "linux") {
    await setTimeout(10_000); // Only Linux tells which files are open: longer than a process takes to start.
    return;
  }
  await eventually(async () => {
    const folder = `/proc/${pid}/fd`;
    const links = (await readdir(folder).catch(() => [])).map((fd) => readlink(join(folder, fd)).catch(() => ""));
    return (await Promise.all(links)).includes(await realpath(file));
  });
}

describe("tradewire rows", () => {
  (hasScript ? it : it.skip)("prints a table on a terminal, without being told to", async () => {
    const written = await onTerminal(folder, 80, 24, ["rows", "one.zip"]);
    expect(written.replaceAll(STYLE, "").split("\r\n").slice(0, 2)).toEqual(["id  note", " 1  NULL"]);
    expect(written).not.toContain("to fit the terminal");
    const narrow = await onTerminal(folder, 12, 24, ["rows", "one.zip"]);
    expect(narrow.replace(/\s+/g, " ")).toContain(" to fit the terminal");
  });

  it.each(["large.zip", "- < large.zip"])("ends quietly where its reader has had enough: %s", async (input) => {
    const script = `{ tradewire rows ${input}; echo "exit $?" >&2; } | head -1`;
    expect(await shell(script, [], folder)).toEqual({
      code: 0,
      out: '{"id":"0","note":"row number 0"}\n',
      err: "exit 0\n",
    });
  });

  it("stops reading at the limit", async () => {
    const reading = "mkfifo late; { cat large.zip; exec sleep 120; } > late & tradewire rows - --limit 1 < late";
    const { out } = await shell(`${reading}; kill $! && echo before the end`, [], folder);
    expect(out).toBe('{"id":"0","note":"row number 0"}\nbefore the end\n');
  });

  it("ends with 130 on Ctrl-C while its reader is slow", async () => {
    const child = spawn(process.execPath, [main, "rows", path("large.zip")], { stdio: ["ignore", "pipe", "ignore"] });
    await once(child.stdout, "readable"); // Nothing more is read.
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
    child.stdout.destroy();
  });

  it.each([
    ["rows", "without a writer", ""],
    ["rows", "with a silent writer", "exec sleep 600 > pipe"],
    ["submit", "without a writer", ""],
    ["submit", "with a silent writer", "exec sleep 600 > pipe"],
  ])("ends with 130 on Ctrl-C while its input is a named pipe: %s, %s", async (command, _, writing) => {
    const cwd = await mkdtemp(join(folder, "pipe-"));
    await promisify(execFile)("mkfifo", [join(cwd, "pipe")]);
    const writer = spawn("sh", ["-c", writing], { cwd });
    const child = spawn(process.execPath, [main, command, "pipe"], { cwd, stdio: ["ignore", "ignore", "pipe"] });
    const said = text(child.stderr);
    await opened(child.pid ?? 0, join(cwd, "pipe"));
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
    expect(await said).toBe("");
    writer.kill();
  });

  it("reads a named pipe and a process's output as it reads a file", async () => {
    const script = "mkfifo fifo; cat one.zip > fifo & tradewire rows fifo; cat one.zip | tradewire rows /dev/stdin";
    const { out } = await run(["rows", path("one.zip")]);
    expect(await shell(script, [], folder)).toEqual({ code: 0, err: "", out: `${out}${out}` });
  });

  it("ends with 130 on Ctrl-C while its input is slow", async () => {
    const child = spawn(process.execPath, [main, "rows", "-"], { stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.on("error", () => undefined);
    child.stdin.write(await readFile(path("cut.zip"))); // Nothing more comes.
    await once(child.stdout, "data");
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
    child.stdin.destroy();
  });
});
