import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/**
 * Choose the name of a temporary file. On Linux it says which process writes the file: a hash of the machine, of its
 * boot and of the space of its process ids, the process id, and when the process began.
 *
 * @returns a name that no other file has
 */
export async function temporaryName(): Promise<string> {
  const owner = await ownerOf();
  const began = owner === undefined ? undefined : await beginning(process.pid);
  const random = randomBytes(8).toString("hex");
  return `.tradewire-${began === undefined ? "" : `${owner}-${process.pid}-${began}-`}${random}.part`;
}

/**
 * Remove the temporary files of processes that were killed. Files of processes that live, of other machines, containers
 * and boots, and those whose name does not say whose they are stay.
 *
 * @param folder the folder in which files are saved; where it cannot be read, nothing is done
 */
export async function sweepTemporary(folder: string): Promise<void> {
  const owner = await ownerOf();
  for (const name of await readdir(folder).catch(() => [])) {
    const [, of, pid, began] = /^\.tradewire-([0-9a-f]{16})-(\d+)-(\d+)-[0-9a-f]{16}\.part$/.exec(name) ?? [];
    if (of === owner && pid !== undefined && (await isDead(Number(pid), began))) {
      await rm(join(folder, name)).catch(() => undefined); // It may be another user's.
    }
  }
}

/** The processes that can be told apart by their ids; undefined where the system does not say. */
async function ownerOf(): Promise<string | undefined> {
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const machine = await readFile("/etc/machine-id", "utf8").catch(() => "");
    const processes = await readlink("/proc/self/ns/pid");
    return createHash("sha256").update([hostname(), machine, boot, processes].join("\0")).digest("hex").slice(0, 16);
  } catch {
    return undefined; // Not Linux.
  }
}

async function isDead(pid: number, began: string | undefined): Promise<boolean> {
  try {
    process.kill(pid, 0); // Signal 0 only asks.
  } catch (reason) {
    if (reason instanceof Error && "code" in reason && reason.code === "ESRCH") {
      return true;
    }
  }
  const now = await beginning(pid);
  return now !== undefined && now !== began; // The id has been given to another process.
}

/** When a process began, in ticks of the clock since the boot; undefined where that cannot be read. */
async function beginning(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name, which may hold anything. This is the 22nd.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
