import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failedWith, fileError } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";
import { makeFolder } from "../file/make-folder.js";

const LOCK = "lock";

/**
 * Take a folder for this process. It is made where it does not exist.
 *
 * @param folder the folder's path
 * @returns gives it back
 * @throws {@link RequestError} where another process has it, or this one
 * @throws {@link FileError} where it cannot be made or written
 */
export function lock(folder: string): () => void {
  const path = join(folder, LOCK);
  makeFolder(folder);
  try {
    for (;;) {
      try {
        writeFileSync(path, String(process.pid), { flag: "wx" });
        return () => rmSync(path, { force: true });
      } catch (reason) {
        if (!failedWith(reason, "EEXIST")) {
          throw reason;
        }
      }
      const owner = Number(readFileSync(path, "utf8"));
      if (owner === process.pid || isAlive(owner)) {
        throw new RequestError(`${folder} is in use by the node of process ${owner}`, {
          advice: `Stop that node, or give another folder. Remove ${path} if no node runs there.`,
        });
      }
      rmSync(path, { force: true }); // Its process was killed.
    }
  } catch (reason) {
    throw reason instanceof RequestError ? reason : fileError(reason, path);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0); // Signal 0 only asks.
    return true;
  } catch (reason) {
    return failedWith(reason, "EPERM");
  }
}
