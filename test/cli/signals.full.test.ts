import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { csvZip } from "../support/archives.js";
import { main, type Running, shell, start } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { type ExportServer, serveExport } from "../support/export-server.js";

let folder: string;
let server: ExportServer;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-signals-"));
  const chunks = [{ contentType: "application/zip", data: await csvZip(3) }];
  server = await serveExport("grpc", { chunks, end: "wait" });
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/**
 * A module that has the command's files be removed only once `ready` resolves, as on a disk that is slow, and that has the
 * command write a line when it is sent SIGUSR2.
 */
const slowDisk = (ready: string) => `
import { promises } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout } from "node:timers/promises";
const { rm } = promises;
promises.rm = async (...args) => {
  process.stderr.write("removing\\n");
  await ${ready};
  await rm(...args);
};
syncBuiltinESMExports();
process.on("SIGUSR2", () => process.stdout.write("late\\n"));
`;

const parts = async () => (await readdir(folder)).filter((name) => name.endsWith(".part"));

/** Starts an export that waits for the rest of its archive, and whose disk is slow. Its file exists. */
async function startSlow(ready: string): Promise<Running & { readonly removing: Promise<void> }> {
  const disk = join(folder, "disk.mjs");
  await writeFile(disk, slowDisk(ready));
  const range = ["--table", "trades", "--from-block", "1", "--to-block", "3000"];
  const args = ["export", "--grpc-url", server.url, "--profile", "deployed", ...range, "--to", folder];
  const running = start(process.execPath, ["--import", disk, main, ...args]);
  const removing = new Promise<void>((resolve) => {
    running.child.stderr?.on("data", (bytes: Buffer) => bytes.includes("removing") && resolve());
  });
  running.ended.catch(() => undefined); // It fails where the output was not read to its end.
  await server.asked;
  await eventually(async () => (await parts()).length > 0);
  return { ...running, removing };
}

describe("a command that is interrupted", () => {
  it.each([
    ["SIGINT", "SIGINT"],
    ["SIGINT", "SIGTERM"],
    ["SIGTERM", "SIGINT"],
    ["SIGHUP", "SIGQUIT"],
    ["SIGQUIT", "SIGHUP"],
  ] as const)("by %s, and cleans up without end, ends at once by a second signal, %s", async (first, second) => {
    const { child, ended, removing } = await startSlow("setTimeout(2 ** 31 - 1)");
    child.kill(first);
    await removing;
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    child.kill(second);
    expect((await ended).code).toBeNull();
    expect(child.signalCode).toBe(second);
    expect(await parts()).toHaveLength(1);
  });

  it("ends at once by a second signal that is sent before the first was handled", async () => {
    for (let round = 0; round < 10; round += 1) {
      const { child, ended } = await startSlow("setTimeout(2 ** 31 - 1)");
      child.kill("SIGINT");
      child.kill("SIGTERM");
      await ended;
      expect(["SIGINT", "SIGTERM"]).toContain(child.signalCode);
    }
  });
});

/** Closes the reader's end of a command's output. Gives the exit code. */
async function closeOutput(child: ChildProcess): Promise<unknown> {
  child.stdout?.destroy();
  const [code] = await once(child, "exit");
  return code;
}

describe("a command whose output nobody reads any more", () => {
  it("goes on where its output is a file, and removes what it began when it is interrupted", async () => {
    const { child, removing } = await startSlow("setTimeout(500)"); // Longer than the process takes to end by itself.
    const exited = closeOutput(child);
    child.kill("SIGUSR2");
    child.kill("SIGTERM");
    await removing;
    expect(await exited).toBe(143);
    expect(await parts()).toEqual([]);
  });

  it("removes what it began also where it was interrupted before", async () => {
    const { child, removing } = await startSlow("setTimeout(1000)"); // Longer than the signal takes to be handled.
    const exited = closeOutput(child);
    child.kill("SIGINT");
    await removing;
    child.kill("SIGUSR2");
    expect(await exited).toBe(130);
    expect(await parts()).toEqual([]);
  });

  it("ends by a signal while its reader stalls", async () => {
    const path = join(folder, "many.zip");
    await writeFile(path, await csvZip(300_000)); // More than a pipe holds.
    const child = spawn(process.execPath, [main, "rows", path], { stdio: ["ignore", "pipe", "pipe"] });
    const exited = once(child, "exit");
    await once(child.stdout, "readable"); // And nothing is read.
    expect(child.exitCode).toBeNull();
    child.kill("SIGINT");
    expect((await exited)[0]).toBe(130);
  });
});

it("standard error that is closed or full changes nothing", async () => {
  const path = join(folder, "a.zip");
  await writeFile(path, await csvZip());
  const key = join(folder, "key");
  for (const [script, code] of [
    [`rows ${path} --verbose`, 0],
    [`rows ${path}.none`, 1],
    [`inspect ${path} --verbose`, 0],
    [`keys new ${key}-$at`, 0],
    ["no-such-command", 2],
  ] as const) {
    for (const redirection of ["2> /dev/full", "2>&-"]) {
      const at = redirection.replaceAll(/\W/g, "");
      const outcome = await shell(`at=${at}; tradewire ${script} ${redirection}`, [], folder);
      expect([script, redirection, outcome.code]).toEqual([script, redirection, code]);
    }
  }
});
