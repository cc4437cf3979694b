import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { RequestError } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { startProcess } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";

const small = { segments: 1, blocksPerSegment: 10, blockMs: 0 } as const;

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "tradewire-taken-over-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** Makes a folder's lock what it is for another machine once its process has been suspended for more than a minute. */
async function age(folder: string): Promise<void> {
  const lock = join(folder, "lock");
  await writeFile(lock, (await readFile(lock, "utf8")).replace(/^[0-9a-f]{16}/, "0".repeat(16)));
  const then = new Date(Date.now() - 61_000);
  await utimes(lock, then, then);
}

/** Waits for something that another process does. */
test("a node that was suspended while another one took its folder writes nothing more, and says so", async () => {
  await using folder = await temporaryFolder();
  const blocks = join(folder.path, "blocks.jsonl");
  const count = () => (existsSync(blocks) ? readFileSync(blocks, "utf8").split("\n").length : 0);
  const ports = ["--grpc-port", "0", "--rest-port", "0"];
  const history = ["--segments", "1", "--blocks-per-segment", "10"];
  const { child, ended } = startProcess([
    "devnode",
    "--data-dir",
    folder.path,
    "--block-time",
    "20ms",
    ...ports,
    ...history,
  ]);
  let said = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    said += bytes.toString();
  });
  await eventually(() => count() > 3 || child.exitCode !== null);
  child.kill("SIGSTOP");
  await eventually(() => !/^[RSD]/.test(spawnSync("ps", ["-o", "state=", "-p", String(child.pid)]).stdout.toString()));
  await age(folder.path);
  {
    await using other = await startDevnode({ ...small, dataDir: folder.path });
    await other.makeBlock();
    child.kill("SIGCONT");
    await eventually(() => said.includes("stopped making blocks") || child.exitCode !== null);
    expect(said).toContain(`another node took over the lock of ${folder.path}, or the lock was removed`);
    const height = await other.makeBlock();
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0 });
    expect(await other.makeBlock()).toBe(height + 1n);
    await other.close();
    await using later = await startDevnode({ ...small, dataDir: folder.path });
    expect(await later.makeBlock()).toBe(height + 2n);
  }
});

test("a node whose lock was taken answers reads, but changes nothing in its folder", async () => {
  await using folder = await temporaryFolder();
  const first = await startDevnode({ ...small, dataDir: folder.path });
  await first.makeBlock();
  const snapshot = first.snapshot();
  await age(folder.path);
  await using second = await startDevnode({ ...small, dataDir: folder.path });
  const height = await second.makeBlock();
  const before = await readFile(join(folder.path, "blocks.jsonl"), "utf8");
  await expect(first.makeBlock()).rejects.toThrow(RequestError);
  await expect(first.makeBlock()).rejects.toThrow(`another node took over the lock of ${folder.path}`);
  expect(() => first.revert(snapshot)).toThrow(RequestError);
  expect(() => first.reset()).toThrow(RequestError);
  await first.close();
  expect(await readFile(join(folder.path, "blocks.jsonl"), "utf8")).toBe(before);
  expect(await second.makeBlock()).toBe(height + 1n);
});
