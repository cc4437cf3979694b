#!/usr/bin/env node
import { readFileSync, writeSync } from "node:fs";

const args = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve("tradewire/package.json")), "utf8"));
// The version needs nothing of what a command loads. The program says why it cannot be written.
if (!["-V", "--version"].includes(args[0] ?? "") || !isWritten(`${version}\n`)) {
  const { runProcess } = await import("./process.js");
  await runProcess(args, version);
}

/** Write to standard output; false where it takes nothing, or not at once. */
function isWritten(text: string): boolean {
  try {
    writeSync(1, text);
    return true;
  } catch {
    return false;
  }
}
