#!/usr/bin/env node
import { existsSync, readFileSync, writeSync } from "node:fs";
import module from "node:module";
import { isAbsolute, join } from "node:path";

const args = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve("tradewire/package.json")), "utf8"));
// The version needs none of the modules of the commands. If it cannot be written, the program reports why.
if (!["-V", "--version"].includes(args[0] ?? "") || !isWritten(`${version}\n`)) {
  enableCompileCache(process.env);
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

/**
 * Lets Node store what it compiles, where it can (22.1 and later): a command then starts a fifth faster. In a folder of the user,
 * since everyone can create the one that Node would use in that of temporary files.
 */
function enableCompileCache({ XDG_CACHE_HOME = "", HOME = "" }: NodeJS.ProcessEnv): void {
  const enable: unknown = Reflect.get(module, "enableCompileCache"); // The types are those of Node 20.
  if (typeof enable === "function") {
    const folder = [XDG_CACHE_HOME, join(HOME, ".cache")].find((each) => isAbsolute(each) && existsSync(each));
    folder && enable(join(folder, "tradewire"));
  }
}
