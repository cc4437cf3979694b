#!/usr/bin/env node
import { readFileSync, writeSync } from "node:fs";

const args = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve("tradewire/package.json")), "utf8"));
// The version needs none of the modules of the commands. If it cannot be written, the program reports why.
if (!["-V", "--version"].includes(args[0] ?? "") || !isWritten(`${version}\n`)) {
  const { runProcess } = await import("./process.js");
  await runProcess(args, version);
}

/** Writes to standard output synchronously, and returns whether that was possible. */
function isWritten(text: string): boolean {
  try {
    const bytes = Buffer.from(text);
    for (let taken = 0; taken < bytes.length; ) {
      taken += writeSync(1, bytes, taken); // A disk that is almost full takes a part.
    }
    return true;
  } catch {
    return false;
  }
}
