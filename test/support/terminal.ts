import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { main, start } from "./command-process.js";

/** Whether there is a program that gives a command a terminal. */
export const hasScript = spawnSync("script", ["--version"]).status === 0;

/** Run the command on a terminal. */
export async function onTerminal(
  folder: string,
  columns: number,
  rows: number,
  command: readonly string[],
): Promise<string> {
  const log = join(folder, "terminal.log");
  const line = [process.execPath, main, ...command].map((word) => `'${word}'`).join(" ");
  const sized = `stty cols ${columns} rows ${rows}; ${line}`;
  // A node may be in this process, so that this must not wait without letting it work.
  await start("script", ["-qefc", sized, log], folder, { TERM: "xterm" }).ended;
  const text = await readFile(log, "utf8");
  return text.slice(text.indexOf("\n") + 1, text.lastIndexOf("\nScript done"));
}
