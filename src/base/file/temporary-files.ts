import fs from "node:fs";
import os from "node:os";
import paths from "node:path";
import { hasErrorCode } from "../errors/node-errors.js";
import { randomBytes } from "../runtime/index.js";

/**
 * Chooses the name of a temporary file. On Linux the name identifies the thread that writes the file: see {@link threadMark}.
 */
export async function temporaryName(): Promise<string> {
  const mark = await threadMark();
  const random = randomBytes(8).toString("hex");
  return `.tradewire-${mark === undefined ? "" : `${mark}-`}${random}.part`;
}

/**
 * Returns a name of this thread from which others can find out whether it runs. A worker thread can end long before its process.
 */
export async function threadMark(): Promise<string | undefined> {
  if (!isLinux) {
    const scope = await processScope();
    return scope && `${scope}-${process.pid}-${UNKNOWN}-${UNKNOWN}`;
  }
  const thread = ownThread();
  const status = thread && (await statusOf(`${process.pid}/task/${thread}`).catch(() => undefined));
  const scope = await processScope();
  return scope && status && `${scope}-${process.pid}-${thread}-${status.started}`;
}

/** Whether a thread runs; `unknown` if that cannot be found out. */
export type ThreadState = "running" | "ended" | "unknown";

export async function threadState(mark: string): Promise<ThreadState> {
  const [, of, pid, thread, started] = /^([0-9a-f]{16})-(\d+)-(\d+)-(\d+)$/.exec(mark) ?? [];
  if (pid === undefined || of !== (await processScope())) {
    return "unknown";
  }
  try {
    process.kill(Number(pid), 0); // Signal 0 only checks.
  } catch (reason) {
    if (hasErrorCode(reason, "ESRCH")) {
      return "ended";
    }
  }
  if (started === UNKNOWN || ownThread() === undefined) {
    return "unknown";
  }
  try {
    const status = await statusOf(`${pid}/task/${thread}`);
    if (status !== undefined) {
      // What has ended but was not reaped is a zombie; a different start time is another thread.
      return /^[ZX]$/.test(status.state) || status.started !== started ? "ended" : "running";
    }
    return (await statusOf(pid)) === undefined ? "unknown" : "ended"; // The processes of other users may be hidden.
  } catch {
    return "unknown";
  }
}

/**
 * Removes the temporary files and folders of killed processes and threads. Those of running threads, of other machines,
 * containers and boots, and those whose name does not identify a thread stay.
 */
export async function sweepTemporary(folder: string): Promise<void> {
  for (const name of await fs.promises.readdir(folder).catch(() => [])) {
    const [, mark] = /^\.tradewire-([0-9a-f]{16}-\d+-\d+-\d+)-[0-9a-f]{16}\.part$/.exec(name) ?? [];
    if (mark !== undefined && (await threadState(mark)) === "ended") {
      await fs.promises.rm(paths.join(folder, name), { recursive: true }).catch(() => undefined); // It may belong to another user.
    }
  }
}

const isLinux = process.platform === "linux";
/** Replaces an unknown thread and an unknown start time. On Linux no thread has them. */
const UNKNOWN = "0";

/**
 * Returns the id of this thread; `undefined` if the system does not provide it, or if `/proc` is that of another process namespace,
 * in which this process has another id.
 */
function ownThread(): string | undefined {
  try {
    const [pid, , thread] = fs.readlinkSync("/proc/thread-self").split("/"); // Not on a thread that reads files.
    return pid === String(process.pid) ? thread : undefined;
  } catch {
    return undefined;
  }
}

/** Identifies the set of processes with distinct ids; `undefined` if the system does not provide it. */
async function processScope(): Promise<string | undefined> {
  if (process.platform === "darwin" || process.platform === "win32") {
    const addresses = Object.values(os.networkInterfaces()).flatMap((all) => all?.map(({ mac }) => mac) ?? []);
    return hashOf([os.hostname(), process.platform, ...new Set(addresses.sort())]);
  }
  try {
    const boot = await fs.promises.readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const machine = await fs.promises.readFile("/etc/machine-id", "utf8").catch(() => "");
    const processes = await fs.promises.readlink("/proc/self/ns/pid");
    return hashOf([os.hostname(), machine, boot, processes]);
  } catch {
    return undefined; // Another system.
  }
}

function hashOf(parts: readonly string[]): string {
  return process
    .getBuiltinModule("node:crypto")
    .createHash("sha256")
    .update(parts.join("\0"))
    .digest("hex")
    .slice(0, 16);
}

/**
 * Returns the state of a process or thread, and when it started in ticks of the clock since the boot.
 *
 * @throws the system's error, for example without free file descriptors
 */
async function statusOf(of: string): Promise<{ readonly state: string; readonly started: string } | undefined> {
  const stat = await fs.promises.readFile(`/proc/${of}/stat`, "utf8").catch((reason: unknown) => {
    if (!hasErrorCode(reason, "ENOENT") && !hasErrorCode(reason, "ESRCH")) {
      throw reason;
    }
    return "";
  });
  // The second field is the program's name, which can contain anything. These are fields 3 and 22 (proc_pid_stat(5)).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, started] = [fields[0], fields[19]];
  return state === undefined || started === undefined ? undefined : { state, started };
}
