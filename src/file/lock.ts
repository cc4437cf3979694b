import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { constants, copyFile, link, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { failedWith } from "../errors/file-error.js";
import { randomUUID, startInterval } from "../runtime/index.js";
import { hasEnded, isOfHere, processMark, temporaryName } from "./temporary.js";

/** How often the holder of a lock shows that it is alive. */
const HEARTBEAT_MS = 5000;
/** After this time without a heartbeat a lock is stale, unless its process is known to be alive. */
export const STALE_MS = 60_000;

/** A lock that this process holds. Disposing of it lets others take it. */
export interface Lock extends AsyncDisposable {
  readonly held: true;
  /**
   * Whether it is still held: it is not if the process was suspended for long, and another one has taken it; or if its
   * file was removed. Ask this right before each write, as nothing comes in between.
   *
   * @throws the system's error if its file cannot be read
   */
  isHeld(): boolean;
}

/** A lock that is held elsewhere, or by this process already. */
export interface LockInUse {
  readonly held: false;
  /** The process that holds it, if it runs on this machine. */
  readonly pid: number | undefined;
}

/** What a lock file says, and when its holder last touched it. */
interface Claim {
  readonly text: string;
  readonly touchedMs: number;
}

/**
 * Take a lock, which is a file. The lock of a process that has ended is free at once on the same machine and boot.
 * Elsewhere, for example in another container, it is free {@link STALE_MS} after the last heartbeat. So is a file that does not
 * name its process in this way, such as one with a bare process id: that id may be any process's by now, in a container
 * almost always that of the container's first one.
 *
 * Any number of processes may find a stale lock at once: one of them gets it. A stale lock is never removed to be made
 * again. Who wants it first takes a second lock that only that stale lock has, sees that the stale one is still there,
 * and renames the second lock over it. Processes that die on the way leave a second lock that is stale itself and is
 * taken in the same way.
 *
 * @param path of the lock file, in a folder that exists
 * @returns the lock, or who holds it
 * @throws the system's error if the file cannot be written
 */
export async function takeLock(path: string): Promise<Lock | LockInUse> {
  const claim = await makeClaim();
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
      // A write has the time of the file system, which all machines share, and reaches this lock alone.
      file
        .write(claim, 0)
        .then(() => file.datasync())
        .catch(() => undefined); // Where it counts, the holder asks isHeld().
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
        // Where a full disk, say, does not let it be released, the file is emptied: it is then stale in a minute.
        await release(path, claim).catch(() => file.truncate(0));
      } finally {
        await file.close();
      }
    },
  };
}

/**
 * Remove the second locks of processes of this machine that were killed while they released a lock. Nobody wants such a
 * lock once no other one says what it is named after: that is said once and never again.
 *
 * @param folder the folder in which locks are taken; where it cannot be read, nothing is done
 */
export async function sweepLocks(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const [, base, hash] = SECOND.exec(name) ?? [];
    const path = join(folder, name);
    const [mark = ""] = (base === undefined ? undefined : await read(path))?.text.split(" ") ?? [];
    if (base !== undefined && (await hasEnded(mark))) {
      // What a second lock says may become the first one's meanwhile, which is therefore read last.
      const others = names.filter((other) => other !== name && SECOND.exec(other)?.[1] === base);
      const hashes = new Set<string | undefined>();
      for (const other of [...others, base]) {
        const found = await read(join(folder, other));
        hashes.add(found && hashOf(found.text));
      }
      await (hashes.has(hash) ? undefined : rm(path, { force: true }));
    }
  }
}

/** Removes a lock, unless another process has taken it or is about to. */
async function release(path: string, claim: string): Promise<void> {
  if ((await read(path))?.text !== claim) {
    return; // It was removed, perhaps with its folder, or another process has taken it.
  }
  const ending = await makeClaim();
  const way = wayTo(path, claim);
  if (await withCandidate(path, ending, (candidate) => take(way, ending, candidate))) {
    if ((await read(path))?.text === claim) {
      await rm(path, { force: true });
    }
    await rm(way, { force: true });
  }
}

/** Makes the candidate, a file with the claim, take the name of a lock. */
async function take(path: string, claim: string, candidate: string): Promise<boolean> {
  for (;;) {
    await createFrom(candidate, path);
    const found = await read(path);
    if (found === undefined) {
      continue; // It was released meanwhile.
    }
    if (found.text === claim) {
      return true;
    }
    const way = wayTo(path, found.text);
    if (!(await isStale(found, candidate)) || !(await take(way, claim, candidate))) {
      return false;
    }
    const now = await read(path);
    if (now?.text === found.text && now.touchedMs === found.touchedMs) {
      await rename(way, path).catch(unlessMissing); // It is missing if this process was taken for dead.
    } else {
      await rm(way, { force: true }); // Another one was faster.
    }
  }
}

/** Gives a file a second name unless that is taken. A file system without links gets a copy. */
async function createFrom(file: string, path: string): Promise<void> {
  try {
    await link(file, path);
  } catch (reason) {
    if (!failedWith(reason, "EEXIST")) {
      await copyFile(file, path, constants.COPYFILE_EXCL).catch((failure: unknown) => {
        if (!failedWith(failure, "EEXIST")) {
          throw failure;
        }
      });
    }
  }
}

async function isStale({ text, touchedMs }: Claim, candidate: string): Promise<boolean> {
  const [mark = ""] = text.split(" ");
  if (await isOfHere(mark)) {
    return await hasEnded(mark);
  }
  const { mtimeMs: nowMs } = await stat(candidate); // By the clock of the file system.
  return (await hasEnded(mark)) || nowMs - touchedMs > STALE_MS;
}

/** The name of the lock that allows to replace a stale lock, or to release one. */
function wayTo(path: string, text: string): string {
  return `${SECOND.exec(path)?.[1] ?? path}.${hashOf(text)}`;
}

/** The name or path of a second lock: that of the first one, and a hash of what the lock says that it allows to replace. */
const SECOND = /^(.*)\.([0-9a-f]{32})$/s;

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

async function makeClaim(): Promise<string> {
  return `${(await processMark()) ?? ""} ${randomUUID()}`;
}

function pidOf(text: string | undefined): number | undefined {
  const [, pid] = /^[0-9a-f]{16}-(\d+)-\d+ /.exec(text ?? "") ?? [];
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
    const { mtimeMs: touchedMs } = await stat(path);
    return { text: await readFile(path, "utf8"), touchedMs };
  } catch (reason) {
    return unlessMissing(reason);
  }
}

function unlessMissing(reason: unknown): undefined {
  if (!failedWith(reason, "ENOENT")) {
    throw reason;
  }
}
