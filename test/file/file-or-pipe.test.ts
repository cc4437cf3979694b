import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { readFileOrPipe } from "../../src/file/file-or-pipe.js";

let folder: string;
let pipe: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-pipe-"));
  pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a program that has the pipe open for writing before this returns. */
function startWriter(script: string) {
  const descriptor = openSync(pipe, "r+");
  const writer = spawn("sh", ["-c", script], { stdio: ["ignore", descriptor, "ignore"] });
  closeSync(descriptor);
  return once(writer, "exit");
}

it("reads a file", () => {
  const path = join(folder, "file");
  writeFileSync(path, "text");
  expect(readFileOrPipe(path).toString()).toBe("text");
});

it("waits until the writer of a pipe has ended", async () => {
  const ended = startWriter("sleep 0.2; printf one; sleep 0.2; printf two");
  expect(readFileOrPipe(pipe).toString()).toBe("onetwo");
  await ended;
});

it("does not wait for a pipe that has no writer", () => {
  expect(() => readFileOrPipe(pipe)).toThrow(
    `${JSON.stringify(pipe)} is a pipe without a writer\nUse the path of a file, or start the program that writes`,
  );
});

it("does not wait forever for a writer", async () => {
  const ended = startWriter("sleep 0.5");
  expect(() => readFileOrPipe(pipe, 100)).toThrow("is a pipe whose writer has not finished within 0.1 s");
  await ended;
});

it("does not read without an end", () => {
  expect(() => readFileOrPipe("/dev/zero")).toThrow('"/dev/zero" exceeds the limit of 16777216 bytes');
});
