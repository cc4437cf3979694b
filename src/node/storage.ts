import { join } from "node:path";
import { RequestError } from "../base/errors/index.js";
import { fileError } from "../base/errors/node-errors.js";
import { createFolder } from "../base/file/atomic-file.js";
import { type LockInUse, STALE_MS, sweepLocks, takeLock } from "../base/file/lock-file.js";
import { monotonicMs } from "../base/runtime/index.js";
import { type Checkpoints, openCheckpoints } from "./checkpoint.js";
import { type Journal, openJournal } from "./journal.js";
import type { LocalNetwork } from "./local-network.js";

/** The files of a local node in its data folder: the journal of its blocks, and checkpoints that shorten a restart. */
export interface Storage {
  readonly journal: Journal;
  readonly checkpoints: Checkpoints;
}

/** A data folder that this node has locked. */
export interface OpenStorage extends Storage {
  /** Closes the journal and releases the lock. */
  close(): Promise<void>;
}

interface StorageKey {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly genesis: unknown;
}

/**
 * Opens a data folder, creates it if it does not exist, and locks it.
 *
 * @throws {@link RequestError} if another node uses the folder, or it belongs to a node with other settings
 * @throws {@link FileError} if the folder cannot be read or written
 */
export async function openStorage(folder: string, { settings, genesis }: StorageKey): Promise<OpenStorage> {
  createFolder(folder);
  const path = join(folder, "lock");
  await sweepLocks(folder);
  const lock = await takeLock(path).catch((reason: unknown) => {
    throw fileError(reason, path);
  });
  if (!lock.held) {
    throw folderInUse(folder, lock);
  }
  try {
    const journal = openJournal(folder, settings, {
      requireLock() {
        if (!lock.isHeld()) {
          throw lockLost(folder);
        }
      },
    });
    const checkpoints = openCheckpoints(folder, { settings, genesis }, journal);
    const close = async () => {
      journal[Symbol.dispose]();
      await lock[Symbol.asyncDispose]();
    };
    return { journal, checkpoints, close };
  } catch (reason) {
    await lock[Symbol.asyncDispose]();
    throw reason;
  }
}

/**
 * Restores a network from its storage: loads the latest checkpoint, then replays the journal's blocks after it.
 *
 * @throws {@link RequestError} if the journal cannot be read, or the network rejects a transaction of a stored block
 */
export function restoreNetwork(network: LocalNetwork, { journal, checkpoints }: Storage): void {
  const startMs = monotonicMs();
  const checkpoint = checkpoints.read();
  if (checkpoint !== undefined) {
    network.restore(checkpoint.state);
  }
  let hasReplayed = false;
  for (const block of journal.read(checkpoint?.position)) {
    network.replay(block);
    hasReplayed = true;
  }
  network.chain.restart();
  if (hasReplayed) {
    checkpoints.blockAdded(monotonicMs() - startMs, network.save);
  }
}

function lockLost(folder: string): RequestError {
  return new RequestError(
    `another node took over the lock of ${folder}, or the lock was removed, while this node was suspended, so this node can no longer write to it`,
    { advice: "Stop this node. Start it again after the other one has stopped, or with another folder." },
  );
}

function folderInUse(folder: string, { pid }: LockInUse): RequestError {
  return new RequestError(
    `${folder} is in use by ${pid === undefined ? "another node" : `the node of process ${pid}`}`,
    {
      advice: `Stop that node, or use another folder. If it was killed on another machine or in another container, the folder becomes free within ${STALE_MS / 1000} seconds.`,
    },
  );
}
