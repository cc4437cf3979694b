import { readFile } from "node:fs/promises";

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
