// What a folder holds is said by one file, its manifest. Replacing it is the moment in which rows become visible, together
// with the entry of the ledger. Files that it does not name are of loads that were ended, and are removed.
import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "tradewire";
import { SinkError } from "tradewire/sync";

/** How long to wait for another process to change the manifest, in milliseconds. */
const PATIENCE_MS = 10_000;

/**
 * Read the manifest: the chain, the entries of the ledger with their files, and what is being loaded.
 *
 * @param {string} folder
 */
export async function readManifest(folder) {
  const text = await readFile(join(folder, "manifest.json"), "utf8").catch((reason) => {
    if (reason.code === "ENOENT") {
      return '{"entries":[],"loading":[]}';
    }
    throw unusable(folder, reason);
  });
  // Numbers of 64 bits are written as texts.
  const bigints = new Set(["fromBlock", "toBlock", "schemaVersion", "rows", "bytes"]);
  return JSON.parse(text, (key, value) => (bigints.has(key) ? BigInt(value) : value));
}

/**
 * Change the manifest. One does so at a time, on one machine.
 *
 * @param {string} folder
 * @param change changes the manifest that it gets, and returns what this returns; where it throws, nothing is changed
 */
export async function changeManifest(folder, change) {
  await mkdir(folder, { recursive: true }).catch((reason) => {
    throw unusable(folder, reason);
  });
  const lock = join(folder, "manifest.lock");
  await takeLock(folder, lock);
  try {
    const manifest = await readManifest(folder);
    manifest.loading = manifest.loading.filter(({ pid }) => isAlive(pid));
    const result = await change(manifest);
    const text = JSON.stringify(manifest, (_, value) => (typeof value === "bigint" ? String(value) : value));
    const temporary = join(folder, "manifest.json.new");
    const file = await open(temporary, "w");
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, "manifest.json"));
    return result;
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(folder, lock) {
  for (const start = Date.now(); ; await sleep(5 + Math.random() * 10)) {
    try {
      const file = await open(lock, "wx");
      await file.writeFile(String(process.pid));
      await file.close();
      return;
    } catch (reason) {
      if (reason.code !== "EEXIST") {
        throw unusable(folder, reason);
      }
    }
    const owner = Number(await readFile(lock, "utf8").catch(() => ""));
    if (owner > 0 && !isAlive(owner)) {
      // Its process was killed. Whoever takes it away by renaming removes it, and nobody removes a newer one.
      const taken = `${lock}.${randomUUID()}`;
      await rename(lock, taken).catch(() => undefined);
      await rm(taken, { force: true });
    } else if (Date.now() - start > PATIENCE_MS) {
      throw new SinkError(`${lock} is held by process ${owner}`, {
        code: Code.Unavailable,
        advice: "Try again; if no such process uses the folder, remove the file.",
      });
    }
  }
}

/** Whether a process of this machine lives. Its number may be another one's by now: then a lock is kept for too long. */
function isAlive(pid) {
  try {
    process.kill(pid, 0); // Signal 0 only asks.
    return true;
  } catch (reason) {
    return reason.code === "EPERM";
  }
}

function unusable(folder, cause) {
  return new SinkError(`${folder} cannot be used: ${cause.message}`, {
    code: cause.code === "ENOSPC" ? Code.ResourceExhausted : Code.Unknown,
    advice: "Check the folder, the disk and the permissions.",
    cause,
  });
}
