// Loaded before a program, this module writes the memory of the process to a file when the process ends, like a core
// dump. Node needs --expose-gc.
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";

const PIECE = 1024 * 1024;

process.on("exit", () => {
  // Node wipes its own copy of a key when it is collected, which happens sooner or later by the load of the machine.
  globalThis.gc();
  const out = openSync(process.env.DUMP_FILE, "w");
  const memory = openSync("/proc/self/mem", "r");
  const piece = Buffer.alloc(PIECE);
  for (const [, from, to] of readFileSync("/proc/self/maps", "latin1").matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
    const end = Number.parseInt(to, 16);
    for (let at = Number.parseInt(from, 16); at < end; at += PIECE) {
      try {
        writeSync(out, piece, 0, readSync(memory, piece, 0, Math.min(PIECE, end - at), at));
      } catch {
        break; // Some mapped memory cannot be read.
      }
    }
  }
  closeSync(memory);
  closeSync(out);
});
