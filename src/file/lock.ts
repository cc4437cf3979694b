import { randomUUID } from "node:crypto";
import { link, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { failedWith, fileError, quotedPath } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";
import { hasEnded, isOfHere, processMark } from "./temporary.js";

const LOCK = "tradewire.lock";
/** How often whoever has a folder says that it lives. */
const BEAT_MS = 5000;
/** Who has not said so for that long is taken for dead, also where its process cannot be looked for. */
const STALE_MS = 60_000;
/** How often a folder is tried to be taken whose lock was left behind: others may be faster. */
const TRIES = 3;

/**
 * Take a folder for this process. That of a process that was killed is free at once on the same machine and boot, and
 * after a minute elsewhere, as in a new container.
 *
 * @param folder the folder, which exists
 * @returns to be disposed of, which gives the folder back
 * @throws {@link RequestError} where another one has it, also in this process
 * @throws {@link FileError} where the lock cannot be written
 */
export async function lockFolder(folder: string): Promise<AsyncDisposable> {
  const path = join(folder, LOCK);
  const own = `${(await processMark()) ?? process.pid} ${randomUUID()}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await writeFile(path, own, { flag: "wx" });
      return held(path, own);
    } catch (reason) {
      if (!failedWith(reason, "EEXIST")) {
        throw fileError(reason, path);
      }
    }
    const judged = attempt < TRIES ? await leftBehind(path) : undefined;
    if (judged === undefined || !(await putAside(path, judged))) {
      throw new RequestError(`${quotedPath(folder)} is in use by another export`, {
        advice: `Wait until it has ended, or give another folder. If it was killed on another machine or in another container, the folder is free within ${STALE_MS / 1000} seconds.`,
      });
    }
  }
}

/** Remove a lock that was left behind, unless another one has taken its place meanwhile. */
async function putAside(path: string, judged: string): Promise<boolean> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
    const isJudged = (await readFile(aside, "utf8")) === judged;
    if (!isJudged) {
      await link(aside, path); // It is somebody's.
    }
    await rm(aside);
    return isJudged;
  } catch (reason) {
    if (failedWith(reason, "ENOENT")) {
      return true; // Another one was faster.
    }
    throw fileError(reason, path);
  }
}

function held(path: string, own: string): AsyncDisposable {
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined); // The lock may have been taken over.
  }, BEAT_MS);
  beat.unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      if ((await readFile(path, "utf8").catch(() => "")) === own) {
        await rm(path, { force: true });
      }
    },
  };
}

/** The text of a lock that nobody holds any more; empty where it was given back meanwhile. */
async function leftBehind(path: string): Promise<string | undefined> {
  try {
    const text = await readFile(path, "utf8");
    const [mark = ""] = text.split(" ");
    const age = Math.abs(Date.now() - (await stat(path)).mtimeMs); // A clock elsewhere may be ahead.
    const isFree = (await isOfHere(mark)) ? await hasEnded(mark) : age > STALE_MS;
    return isFree ? text : undefined;
  } catch (reason) {
    if (failedWith(reason, "ENOENT")) {
      return "";
    }
    throw fileError(reason, path);
  }
}
