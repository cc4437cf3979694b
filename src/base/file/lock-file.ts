import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { constants, copyFile, link, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasErrorCode } from "../errors/node-errors.js";
import { randomUUID, startInterval } from "../runtime/index.js";
import { temporaryName, threadMark, threadState } from "./temporary-files.js";

/** Interval of the holder's heartbeats. */
const HEARTBEAT_MS = 5000;
/** After this time without a heartbeat a lock is stale, unless its thread is known to run. */
export const STALE_MS = 60_000;

/** A lock that this thread holds. Disposing of it releases the lock. */
export interface Lock extends AsyncDisposable {
  readonly held: true;
  /**
   * Returns whether the lock is still held. It is lost if the process was suspended for long and another one has taken
   * it, or if its file was removed. Check this right before each write.
   *
   * @throws the system's error if its file cannot be read
   */
  isHeld(): boolean;
}

/** A lock that another process or thread holds, or that this thread holds already. */
export interface LockInUse {
  readonly held: false;
  /** The process that holds it, if it runs on this machine. */
  readonly pid: number | undefined;
}

/** The content of a lock file, and the time of the last heartbeat. */
interface Claim {
  readonly text: string;
  readonly heartbeatMs: number;
}

/**
 * Acquires a lock, which is a file. The lock of a process or worker thread that has ended on the same machine and boot is free
 * immediately. Elsewhere, for example in another container, it is free {@link STALE_MS} after the last heartbeat. So is a
 * file that does not identify its thread in this way, such as one with only a process id, which may by now belong to any
 * process, in a container almost always to the first one. A thread that runs keeps its lock even if its heartbeats are late: what
 * it was writing when it was suspended is written when it continues.
 *
 * If several processes find a stale lock at the same time, one of them gets it. A stale lock is never removed and created
 * again. A process first acquires a second lock, which is named after the content of the stale lock, verifies that the
 * stale lock is still there, and renames the second lock over it. A process that dies in between leaves a second lock,
 * which is stale itself and is taken over in the same way.
 *
 * @throws the system's error if the file cannot be written
 */
export async function takeLock(path: string): Promise<Lock | LockInUse> {
  const claim = await createClaim();
  if (!(await withCandidate(path, claim, (candidate) => take(path, claim, candidate)))) {
    return { held: false, pid: pidOf((await read(path))?.text) };
  }
  const isHeld = () => {
    try {
      return readFileSync(path, "utf8") === claim;
    } catch (reason) {
      return unlessMissing(reason) ?? false;
    }
  };
  const file = await open(path, "r+").catch(async (reason: unknown) => {
    await release(path, claim);
    throw reason;
  });
  const stopHeartbeat = startInterval(
    () => {
      // A write gets the file system's time, which all machines share, and affects only this lock.
      file
        .write(claim, 0)
        .then(() => file.datasync())
        .catch(() => undefined); // The holder calls isHeld() before each write.
    },
    HEARTBEAT_MS,
    { ref: false },
  );
  return {
    held: true,
    isHeld,
    async [Symbol.asyncDispose]() {
      stopHeartbeat();
      try {
        // If the release fails, for example on a full disk, the file is emptied, which makes it stale in a minute.
        await release(path, claim).catch(() => file.truncate(0));
      } finally {
        await file.close();
      }
    },
  };
}

/**
 * Removes the second locks of processes of this machine that were killed while they released a lock. Such a lock is
 * obsolete once no other lock has the content that it is named after, since no two locks ever have the same content.
 *
 * Files that cannot be read or removed stay; `takeLock` reports what is wrong with the folder.
 */
export async function sweepLocks(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    await sweepLock(folder, name, names).catch(() => undefined);
  }
}

/** Removes a file if it is an obsolete second lock. `names` are all files of the folder. */
async function sweepLock(folder: string, name: string, names: readonly string[]): Promise<void> {
  const [, base, hash] = SECOND_LOCK.exec(name) ?? [];
  if (base === undefined) {
    return;
  }
  const path = join(folder, name);
  const [mark = ""] = (await read(path))?.text.split(" ") ?? [];
  if ((await threadState(mark)) !== "ended") {
    return;
  }
  // The content of a second lock may become the first one's meanwhile, so the first one is read last.
  const others = names.filter((other) => other !== name && SECOND_LOCK.exec(other)?.[1] === base);
  const hashes = new Set<string | undefined>();
  for (const other of [...others, base]) {
    const found = await read(join(folder, other));
    hashes.add(found && hashOf(found.text));
  }
  if (!hashes.has(hash)) {
    await rm(path, { force: true });
  }
}

/** Removes a lock, unless another process has taken it or is about to. */
async function release(path: string, claim: string): Promise<void> {
  if ((await read(path))?.text !== claim) {
    return; // It was removed, or another process has taken it.
  }
  const ending = await createClaim();
  const secondLock = secondLockPath(path, claim);
  if (await withCandidate(path, ending, (candidate) => take(secondLock, ending, candidate))) {
    if ((await read(path))?.text === claim) {
      await rm(path, { force: true });
    }
    await rm(secondLock, { force: true });
  }
}

/** Gives the candidate, a file with the claim, the name of a lock. Returns whether this succeeded. */
async function take(path: string, claim: string, candidate: string): Promise<boolean> {
  for (;;) {
    await createFrom(candidate, path);
    const found = await read(path);
    if (found === undefined) {
      continue; // The lock was released in the meantime.
    }
    if (found.text === claim) {
      return true;
    }
    const secondLock = secondLockPath(path, found.text);
    if (!(await isStale(found, candidate)) || !(await take(secondLock, claim, candidate))) {
      return false;
    }
    const now = await read(path);
    if (now?.text === found.text && now.heartbeatMs === found.heartbeatMs) {
      await rename(secondLock, path).catch(unlessMissing); // It is missing if another process considered this one dead.
    } else {
      await rm(secondLock, { force: true }); // Another process was faster.
    }
  }
}

/** Gives a file a second name unless that exists. On a file system without links, copies it. */
async function createFrom(file: string, path: string): Promise<void> {
  try {
    await link(file, path);
  } catch (reason) {
    if (!hasErrorCode(reason, "EEXIST")) {
      await copyFile(file, path, constants.COPYFILE_EXCL).catch((failure: unknown) => {
        if (!hasErrorCode(failure, "EEXIST")) {
          throw failure;
        }
      });
    }
  }
}

async function isStale({ text, heartbeatMs }: Claim, candidate: string): Promise<boolean> {
  const [mark = ""] = text.split(" ");
  const state = await threadState(mark);
  if (state !== "unknown") {
    return state === "ended";
  }
  const { mtimeMs: nowMs } = await stat(candidate); // By the clock of the file system.
  return nowMs - heartbeatMs > STALE_MS;
}

/** Returns the path of the second lock, whose holder may replace a stale lock or release its own. */
function secondLockPath(path: string, text: string): string {
  return `${SECOND_LOCK.exec(path)?.[1] ?? path}.${hashOf(text)}`;
}

/** The name or path of a second lock: that of the first one, and a hash of the content that it allows to replace. */
const SECOND_LOCK = /^(.*)\.([0-9a-f]{32})$/s;

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

async function createClaim(): Promise<string> {
  return `${(await threadMark()) ?? ""} ${randomUUID()}`;
}

function pidOf(text: string | undefined): number | undefined {
  const [, pid] = /^[0-9a-f]{16}-(\d+)-\d+-\d+ /.exec(text ?? "") ?? [];
  return pid === undefined ? undefined : Number(pid);
}

async function withCandidate<T>(path: string, claim: string, use: (candidate: string) => Promise<T>): Promise<T> {
  const candidate = join(dirname(path), await temporaryName());
  try {
    await writeFile(candidate, claim, { flag: "wx" });
    return await use(candidate);
  } finally {
    await rm(candidate, { force: true });
  }
}

async function read(path: string): Promise<Claim | undefined> {
  try {
    const { mtimeMs: heartbeatMs } = await stat(path);
    return { text: await readFile(path, "utf8"), heartbeatMs };
  } catch (reason) {
    return unlessMissing(reason);
  }
}

function unlessMissing(reason: unknown): undefined {
  if (!hasErrorCode(reason, "ENOENT")) {
    throw reason;
  }
}
