// What kind of machine the figures are from.
import { readFileSync } from "node:fs";
import { cpus, platform, totalmem } from "node:os";

/** Describe the machine, without its name. */
export function machine() {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? "unknown",
    cores: all.length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: distribution(),
    node: process.version,
  };
}

function distribution() {
  try {
    return /^PRETTY_NAME="?(.*?)"?$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "Linux";
  } catch {
    return platform();
  }
}
