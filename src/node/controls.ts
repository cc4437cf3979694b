import * as v from "valibot";
import { quoted } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";
import { formatValue } from "../base/input/assert.js";
import { optionsSchema, parseInput } from "../base/input/schemas.js";
import { monotonicMs, unixMs } from "../base/runtime/index.js";
import type { Failure, FailureInjector } from "./failure-injection.js";
import type { LocalNetwork } from "./local-network.js";
import { restoreNetwork, type Storage } from "./storage.js";
import { isoNanoseconds } from "./tables/postgres-text.js";

/** Controls a local node from a test. After the node is closed, all functions throw. */
export interface Controls {
  /**
   * Makes a block of all waiting transactions immediately.
   *
   * @returns the block's height
   */
  makeBlock(): Promise<bigint>;
  /**
   * Sets the clock of the blocks, which continues from there.
   *
   * @param time Unix nanoseconds, a `Date`, or ISO 8601; later than the last block
   * @throws `RequestError` if the time is invalid, not later than the last block, or later than the year 2249
   */
  setTime(time: bigint | Date | string): void;
  /**
   * Takes a snapshot of the node's state: blocks and history, orders, balances, waiting transactions, and the clock.
   *
   * @returns the snapshot's identifier, for {@link Controls.revert}
   */
  snapshot(): string;
  /**
   * Restores a snapshot, any number of times. Snapshots that were taken later are deleted.
   *
   * @param id the snapshot's identifier
   * @throws `RequestError` if the snapshot does not exist
   */
  revert(id: string): void;
  /** Restores the state with which the node was first started. All snapshots are deleted. */
  reset(): void;
  /**
   * Makes the next calls of a method fail, to simulate failures of networks and nodes.
   *
   * @param failure the method, the kind of failure, and the number of calls
   * @throws `RequestError` if the method or the kind of failure does not exist, or the failure could have no effect
   *
   * @example
   * node.failNext({ method: "ExportNetworkHistory", with: "cut", afterBytes: 100_000 });
   */
  failNext(failure: Failure): void;
}

/** The controls of a local node, and what runs when it closes. */
export interface NodeControls extends Controls {
  /** Writes a last checkpoint, which shortens the next start. No block is made after it. */
  finish(): void;
}

/**
 * Whether a block can be made. After a failed block, none is: it would be based on changes of the failed block, which a restart
 * does not restore.
 */
type BlockStatus = { readonly kind: "ready" } | { readonly kind: "failed"; readonly reason: unknown };

const READY: BlockStatus = { kind: "ready" };

/** Creates the controls of a local node. If the node has a storage, its network is restored from it first. */
export function createControls(
  network: LocalNetwork,
  { failNext }: FailureInjector,
  storage: Storage | undefined,
  isClosed: () => boolean,
): NodeControls {
  const snapshots = createSnapshots();
  /** The difference of the blocks' clock to the system's, in nanoseconds. */
  let clockOffset = 0n;
  let status: BlockStatus = READY;

  function snapshotAt(position: number): () => void {
    const state = network.save();
    const offset = clockOffset;
    return () => {
      network.restore(state);
      clockOffset = offset;
      // In this order, so that no checkpoint is ever ahead of the journal, even if the process is killed.
      storage?.checkpoints.truncate(position);
      storage?.journal.truncate(position);
      status = READY;
    };
  }
  function requireOpen(): void {
    if (isClosed()) {
      throw new RequestError("the local node is closed", { advice: "Start another one." });
    }
  }
  const restoreStart = snapshotAt(storage?.journal.start ?? 0);
  if (storage !== undefined) {
    restoreNetwork(network, storage);
  }
  const lead = network.blocks.last().time - unixNanoseconds();
  clockOffset = lead > 0n ? lead : 0n; // A restored clock continues from the last block.

  return {
    async makeBlock() {
      requireOpen();
      storage?.journal.requireOpen(); // Before the block, which could not be stored otherwise.
      if (status.kind === "failed") {
        throw new RequestError("the last block failed or could not be stored, so no more blocks can be made", {
          advice: "Revert to a snapshot, or reset the node.",
          cause: status.reason,
        });
      }
      try {
        const startMs = monotonicMs();
        const block = network.makeBlock(unixNanoseconds() + clockOffset);
        storage?.journal.add(block);
        storage?.checkpoints.blockAdded(monotonicMs() - startMs, network.save);
        return block.height;
      } catch (reason) {
        status = { kind: "failed", reason };
        throw reason;
      }
    },

    setTime(time) {
      requireOpen();
      clockOffset = parseNewTime(time, network.blocks.last().time) - unixNanoseconds();
    },

    snapshot() {
      requireOpen();
      return snapshots.add(snapshotAt(storage?.journal.position() ?? 0));
    },

    revert(id) {
      requireOpen();
      snapshots.truncateTo(parseInput(snapshotSchema, { id }, "revert").id)();
    },

    reset() {
      requireOpen();
      snapshots.clear();
      restoreStart();
    },

    failNext(failure) {
      requireOpen();
      failNext(failure);
    },

    finish() {
      // Waiting transactions are lost with the node, and so is what the mempool has counted for them.
      if (status.kind === "ready" && network.chain.counts().waiting === 0) {
        storage?.checkpoints.finish(network.save);
      }
    },
  };
}

/** Creates the store of a node's snapshots, by identifier. */
function createSnapshots() {
  const snapshots = new Map<string, () => void>();
  let count = 0;
  return {
    clear: () => snapshots.clear(),

    add(restore: () => void): string {
      count += 1;
      snapshots.set(String(count), restore);
      return String(count);
    },

    /** Returns the function that restores a snapshot, and deletes all later snapshots. */
    truncateTo(id: string): () => void {
      const restore = snapshots.get(id);
      if (restore === undefined) {
        throw new RequestError(`unknown snapshot ${quoted(id)}`, {
          advice:
            "Use the ID of an existing snapshot. A reset deletes all snapshots, and a revert deletes the later ones.",
        });
      }
      for (const other of [...snapshots.keys()].filter((each) => Number(each) > Number(id))) {
        snapshots.delete(other);
      }
      return restore;
    },
  };
}

/**
 * The schema of the arguments of `revert`.
 *
 * @internal
 */
export const snapshotSchema = optionsSchema(
  { id: v.string("must be the ID that snapshot returned") },
  "must be the ID of a snapshot",
);

/** The clock cannot be set to this time or later: later blocks must fit 64 bits, and cursors 19 digits below 9. */
const END_OF_TIME = BigInt(Date.UTC(2250, 0)) * 1_000_000n;

/** Returns a time for the blocks' clock, in Unix nanoseconds, or throws `RequestError` if it is not later than the last block. */
function parseNewTime(input: bigint | Date | string, lastTime: bigint): bigint {
  const time = parseTime(input);
  if (time <= lastTime) {
    throw new RequestError(`the time ${isoText(time)} is not after the time of the last block, ${isoText(lastTime)}`, {
      advice: "Use a later time. To go back, revert to a snapshot or reset the node.",
    });
  }
  if (time >= END_OF_TIME) {
    throw new RequestError(`the time ${isoText(time)} must be before ${isoText(END_OF_TIME)}`, {
      advice: "The network counts nanoseconds in 64 bits.",
    });
  }
  return time;
}

function parseTime(input: unknown): bigint {
  const time =
    typeof input === "string" ? isoNanoseconds(input) : input instanceof Date ? dateNanoseconds(input) : input;
  if (typeof time !== "bigint" || Number.isNaN(new Date(Number(time / 1_000_000n)).getTime())) {
    throw new RequestError(`invalid time ${formatValue(input)}`, {
      advice: "Use ISO 8601, such as 2024-01-31T12:30:00Z, a Date, or Unix nanoseconds.",
    });
  }
  return (time / 1000n) * 1000n; // Block times are in microseconds.
}

const dateNanoseconds = (date: Date) =>
  Number.isNaN(date.getTime()) ? undefined : BigInt(date.getTime()) * 1_000_000n;

const isoText = (time: bigint) => new Date(Number(time / 1_000_000n)).toISOString();

const unixNanoseconds = () => BigInt(unixMs()) * 1_000_000n;
