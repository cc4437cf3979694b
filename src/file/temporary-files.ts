import { hasErrorCode } from "../errors/node-errors.js";
import { nodeFiles, nodePaths, requireNode } from "../input/require-node.js";
import { randomBytes } from "../runtime/index.js";
import { nodeProcess } from "../runtime/node-process.js";

/**
 * Chooses the name of a temporary file. On Linux the name identifies the process that writes the file: a hash of the
 * machine, its boot and its process namespace, the process id, and the process's start time.
 *
 * @returns a unique name
 */
export async function temporaryName(): Promise<string> {
  const mark = await processMark();
  const random = randomBytes(8).toString("hex");
  return `.tradewire-${mark === undefined ? "" : `${mark}-`}${random}.part`;
}

/**
 * Returns a name of this process from which others can find out whether it lives.
 *
 * @returns a hash of the machine, its boot and its process namespace, the process id, and the process's start time, which
 *   macOS and Windows do not provide; `undefined` if the system does not identify machines
 */
export async function processMark(): Promise<string | undefined> {
  const scope = await processScope();
  const started = scope === undefined ? undefined : isLinux ? (await statusOf(process.pid))?.started : UNKNOWN_START;
  return started === undefined ? undefined : `${scope}-${process.pid}-${started}`;
}

/**
 * Returns whether a process has certainly ended.
 *
 * @param mark the process, from {@link processMark}
 * @returns false also for processes of other machines, containers and boots
 */
export async function hasEnded(mark: string): Promise<boolean> {
  const [, of, pid, started] = /^([0-9a-f]{16})-(\d+)-(\d+)$/.exec(mark) ?? [];
  return pid !== undefined && of === (await processScope()) && (await isDead(Number(pid), started));
}

/**
 * Returns whether {@link hasEnded} is certain about a process.
 *
 * @param mark the process, from {@link processMark}
 * @returns false for processes of other machines, containers and boots, and if a later process may have the same id
 */
export async function isLocalProcess(mark: string): Promise<boolean> {
  const scope = await processScope();
  return scope !== undefined && mark.startsWith(`${scope}-`) && !mark.endsWith(`-${UNKNOWN_START}`);
}

/**
 * Removes the temporary files and folders of killed processes. Those of running processes, of other machines, containers
 * and boots, and those whose name does not identify a process stay.
 *
 * @param folder the folder in which files are saved; if it cannot be read, nothing is done
 */
export async function sweepTemporary(folder: string): Promise<void> {
  for (const name of await nodeFiles()
    .promises.readdir(folder)
    .catch(() => [])) {
    const [, mark] = /^\.tradewire-([0-9a-f]{16}-\d+-\d+)-[0-9a-f]{16}\.part$/.exec(name) ?? [];
    if (mark !== undefined && (await hasEnded(mark))) {
      await nodeFiles()
        .promises.rm(nodePaths().join(folder, name), { recursive: true })
        .catch(() => undefined); // It may belong to another user.
    }
  }
}

const isLinux = nodeProcess?.platform === "linux";
/** Replaces an unknown start time. On Linux no process has it. */
const UNKNOWN_START = "0";

/** Identifies the set of processes with distinct ids; `undefined` if the system does not provide it. */
async function processScope(): Promise<string | undefined> {
  if (process.platform === "darwin" || process.platform === "win32") {
    const addresses = Object.values(requireNode("a file").getBuiltinModule("node:os").networkInterfaces()).flatMap(
      (all) => all?.map(({ mac }) => mac) ?? [],
    );
    return hashOf([
      requireNode("a file").getBuiltinModule("node:os").hostname(),
      process.platform,
      ...new Set(addresses.sort()),
    ]);
  }
  try {
    const boot = await nodeFiles().promises.readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const machine = await nodeFiles()
      .promises.readFile("/etc/machine-id", "utf8")
      .catch(() => "");
    const processes = await nodeFiles().promises.readlink("/proc/self/ns/pid");
    return hashOf([requireNode("a file").getBuiltinModule("node:os").hostname(), machine, boot, processes]);
  } catch {
    return undefined; // Another system.
  }
}

function hashOf(parts: readonly string[]): string {
  return requireNode("a file")
    .getBuiltinModule("node:crypto")
    .createHash("sha256")
    .update(parts.join("\0"))
    .digest("hex")
    .slice(0, 16);
}

async function isDead(pid: number, started: string | undefined): Promise<boolean> {
  try {
    process.kill(pid, 0); // Signal 0 only checks.
  } catch (reason) {
    if (hasErrorCode(reason, "ESRCH")) {
      return true;
    }
  }
  const now = await statusOf(pid);
  // A process that has ended but was not reaped is a zombie; a different start time is another process.
  return now !== undefined && (/^[ZX]$/.test(now.state) || now.started !== started);
}

/** The state of a process, and when it started in ticks of the clock since the boot; undefined if they cannot be read. */
async function statusOf(pid: number): Promise<{ readonly state: string; readonly started: string } | undefined> {
  try {
    const stat = await nodeFiles().promises.readFile(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name, which can contain anything. These are fields 3 and 22 (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, started] = [fields[0], fields[19]];
    return state === undefined || started === undefined ? undefined : { state, started };
  } catch {
    return undefined;
  }
}
