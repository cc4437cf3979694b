import { createHash } from "node:crypto";
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { failedWith } from "../errors/file-error.js";
import { randomBytes } from "../runtime/index.js";

/**
 * Choose the name of a temporary file. On Linux it says which process writes the file: a hash of the machine, of its
 * boot and of the space of its process ids, the process id, and when the process began.
 *
 * @returns a name that no other file has
 */
export async function temporaryName(): Promise<string> {
  const mark = await processMark();
  const random = randomBytes(8).toString("hex");
  return `.tradewire-${mark === undefined ? "" : `${mark}-`}${random}.part`;
}

/**
 * Name this process, so that others can tell whether it lives.
 *
 * @returns a hash of the machine, of its boot and of the space of its process ids, the process id, and when the process
 *   began, which macOS and Windows do not say; `undefined` where the system does not tell machines apart
 */
export async function processMark(): Promise<string | undefined> {
  const owner = await ownerOf();
  const began = owner === undefined ? undefined : isLinux ? (await statusOf(process.pid))?.began : UNKNOWN_BEGINNING;
  return began === undefined ? undefined : `${owner}-${process.pid}-${began}`;
}

/**
 * Tell whether a process has ended.
 *
 * @param mark its name, of {@link processMark}
 * @returns whether it certainly has; false for processes of other machines, containers and boots
 */
export async function hasEnded(mark: string): Promise<boolean> {
  const [, of, pid, began] = /^([0-9a-f]{16})-(\d+)-(\d+)$/.exec(mark) ?? [];
  return pid !== undefined && of === (await ownerOf()) && (await isDead(Number(pid), began));
}

/**
 * Tell whether {@link hasEnded} certainly knows of a process whether it runs.
 *
 * @param mark its name, of {@link processMark}
 * @returns false for processes of other machines, containers and boots, and where ids of processes may be those of later ones
 */
export async function isOfHere(mark: string): Promise<boolean> {
  const owner = await ownerOf();
  return owner !== undefined && mark.startsWith(`${owner}-`) && !mark.endsWith(`-${UNKNOWN_BEGINNING}`);
}

/**
 * Remove the temporary files and folders of processes that were killed. Those of processes that live, of other machines, containers
 * and boots, and those whose name does not say whose they are stay.
 *
 * @param folder the folder in which files are saved; where it cannot be read, nothing is done
 */
export async function sweepTemporary(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, mark] = /^\.tradewire-([0-9a-f]{16}-\d+-\d+)-[0-9a-f]{16}\.part$/.exec(name) ?? [];
    if (mark !== undefined && (await hasEnded(mark))) {
      await rm(join(folder, name), { recursive: true }).catch(() => undefined); // It may be another user's.
    }
  }
}

const isLinux = process.platform === "linux";
/** Stands for the time at which a process began. On Linux no process has it. */
const UNKNOWN_BEGINNING = "0";

/** The processes that can be told apart by their ids; undefined where the system does not say. */
async function ownerOf(): Promise<string | undefined> {
  if (process.platform === "darwin" || process.platform === "win32") {
    const addresses = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ mac }) => mac) ?? []);
    return hashOf([hostname(), process.platform, ...new Set(addresses.sort())]);
  }
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const machine = await readFile("/etc/machine-id", "utf8").catch(() => "");
    const processes = await readlink("/proc/self/ns/pid");
    return hashOf([hostname(), machine, boot, processes]);
  } catch {
    return undefined; // Another system.
  }
}

function hashOf(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 16);
}

async function isDead(pid: number, began: string | undefined): Promise<boolean> {
  try {
    process.kill(pid, 0); // Signal 0 only asks.
  } catch (reason) {
    if (failedWith(reason, "ESRCH")) {
      return true;
    }
  }
  const now = await statusOf(pid);
  // One that has ended and that its parent has not asked for yet is a zombie; a different beginning is another process.
  return now !== undefined && (/^[ZX]$/.test(now.state) || now.began !== began);
}

/** The state of a process, and when it began in ticks of the clock since the boot; undefined where they cannot be read. */
async function statusOf(pid: number): Promise<{ readonly state: string; readonly began: string } | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name, which may hold anything. These are the third and the 22nd (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, began] = [fields[0], fields[19]];
    return state === undefined || began === undefined ? undefined : { state, began };
  } catch {
    return undefined;
  }
}
