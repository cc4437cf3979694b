import fs, { type Stats } from "node:fs";
import { readFile } from "node:fs/promises";
import { Code } from "../errors/code.js";
import { FileError } from "../errors/index.js";
import { shownPath } from "../errors/node-errors.js";

/** The device that is always empty. */
const NULL_DEVICE = "/dev/null";

/**
 * Refuses a device in place of a file to read: `/dev/zero` has no end, and a disk is not meant. The null device and terminals
 * are accepted, because `/dev/stdin` may lead to them.
 *
 * @throws {@link FileError} if it is another device
 */
export function refuseDevice(path: string, stats: Stats): void {
  if (stats.isBlockDevice() || (stats.isCharacterDevice() && !isNull(stats) && !isTerminal(path))) {
    throw new FileError(`${shownPath(path)}: a device, not a file`, {
      code: Code.InvalidArgument,
      advice: "Use the path of a file, or - for standard input where it is accepted.",
    });
  }
}

/**
 * Refuses what is not a file in place of a file to replace.
 *
 * @throws {@link FileError} if it is a device, a pipe or a socket
 */
export function refuseToReplace(path: string, stats: Stats): void {
  if (!stats.isFile() && !stats.isDirectory()) {
    const what = stats.isFIFO() ? "a pipe" : stats.isSocket() ? "a socket" : "a device";
    throw new FileError(`${shownPath(path)}: ${what}, not a file`, {
      code: Code.InvalidArgument,
      advice: "Use the path of a file, or - for standard output where it is accepted.",
    });
  }
}

function isNull({ rdev }: Stats): boolean {
  return fs.statSync(NULL_DEVICE, { throwIfNoEntry: false })?.rdev === rdev;
}

function isTerminal(path: string): boolean {
  const { closeSync, constants, openSync } = fs;
  const { O_NOCTTY = 0, O_NONBLOCK = 0, O_RDONLY } = constants;
  try {
    // Neither becomes the process's own terminal, nor waits for a modem.
    const descriptor = openSync(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
    try {
      return process.getBuiltinModule("node:tty").isatty(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return false; // Whoever reads it gets the error.
  }
}

/**
 * Returns whether a file or folder is itself mounted, such as a single file that a container gets with `-v file:file`. The same
 * file then has other paths, in other folders.
 *
 * @throws the system's error if the mounts cannot be read
 */
export async function isMountPoint(path: string): Promise<boolean> {
  if (process.platform !== "linux") {
    return false;
  }
  const mounts = await readFile("/proc/self/mountinfo", "utf8");
  // The fifth field is the mount point, with spaces and such as octal numbers (proc_pid_mountinfo(5)).
  return mounts.split("\n").some((line) => {
    const [, , , , point = ""] = line.split(" ");
    return Buffer.from(unescaped(point), "latin1").toString() === path;
  });
}

function unescaped(text: string): string {
  const bytes = Buffer.from(text).toString("latin1");
  return bytes.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
