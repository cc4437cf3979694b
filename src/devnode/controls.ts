import * as z from "zod";
import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { monotonicMs, unixMs } from "../runtime/index.js";
import type { Checkpoints } from "./checkpoint.js";
import type { Failure } from "./failure.js";
import type { Failures } from "./failures.js";
import { checkGiven, found, optionsOf } from "./given.js";
import { isoNanoseconds } from "./iso-time.js";
import type { Journal } from "./journal.js";
import type { LocalNetwork } from "./local-network.js";

/** What a test does with a local node besides calling it. A node that was closed refuses all of it. */
export interface Controls {
  /**
   * Make a block of all waiting transactions at once.
   *
   * @returns the block's height
   */
  makeBlock(): Promise<bigint>;
  /**
   * Set the clock of the blocks. It goes on from there.
   *
   * @param time Unix nanoseconds, a `Date`, or ISO 8601; later than the last block
   * @throws `RequestError` if it is no time, not later than the last block, or later than the year 2249
   */
  setTime(time: bigint | Date | string): void;
  /**
   * Keep all that the node knows: its blocks and history, orders, balances, what waits for a block, and its clock.
   *
   * @returns a name for {@link Controls.revert}
   */
  snapshot(): string;
  /**
   * Bring back what a snapshot kept, as often as one likes. Snapshots that were made after it are forgotten.
   *
   * @param id the snapshot's name
   * @throws `RequestError` if there is no such snapshot
   */
  revert(id: string): void;
  /** Bring back what the node began with. All snapshots are forgotten. */
  reset(): void;
  /**
   * Make the next calls of a method fail, to rehearse what networks and nodes do.
   *
   * @param failure the method, what happens to its calls and to how many of them
   * @throws `RequestError` if there is no such method, or no such failure, or it could have no effect
   *
   * @example
   * node.failNext({ method: "ExportNetworkHistory", with: "cut", afterBytes: 100_000 });
   */
  failNext(failure: Failure): void;
}

/** What keeps a node's blocks in a folder. */
export interface Storage {
  readonly journal: Journal;
  readonly checkpoints: Checkpoints;
}

/** The controls of a local node, and its end. */
export interface NodeControls extends Controls {
  /** Keep what makes the next start short. No block is made after it. */
  finish(): void;
}

/**
 * Make the controls of a local node. What the storage holds is brought back first.
 *
 * @param network the network
 * @param failures what makes calls fail
 * @param storage keeps its blocks; undefined where they are kept in memory alone
 * @param isClosed whether the node was closed
 * @returns the controls
 */
export function createControls(
  network: LocalNetwork,
  { failNext }: Failures,
  storage: Storage | undefined,
  isClosed: () => boolean,
): NodeControls {
  const MILLISECOND = 1_000_000n;
  const clock = () => BigInt(unixMs()) * MILLISECOND;
  let ahead = 0n;
  let count = 0;
  let snapshots = new Map<string, () => void>();
  /** Why a block was not made whole, or not kept. What stands on it would be lost, or differ after a restart. */
  let broken: { readonly reason: unknown } | undefined;

  function keep(position: number): () => void {
    const state = network.save();
    const kept = { ahead };
    return () => {
      network.restore(state);
      ({ ahead } = kept);
      // In this order: what is kept is never beyond the blocks, whenever the process is killed.
      storage?.checkpoints.truncate(position);
      storage?.journal.truncate(position);
      broken = undefined;
    };
  }
  function requireOpen(): void {
    if (isClosed()) {
      throw new RequestError("the local node is closed", { advice: "Start another one." });
    }
  }
  const begin = keep(storage?.journal.start ?? 0);
  if (storage !== undefined) {
    goOn(network, storage);
  }
  const beyond = network.blocks.last().time - clock();
  ahead = beyond > 0n ? beyond : 0n; // The clock was set, and goes on from there.

  return {
    async makeBlock() {
      requireOpen();
      storage?.journal.requireOpen(); // Before the block, as it would be made and not kept.
      if (broken !== undefined) {
        throw new RequestError("the last block was not made whole, or not kept, and none can follow it", {
          advice: "Revert to a snapshot, or reset the node.",
          cause: broken.reason,
        });
      }
      try {
        const began = monotonicMs();
        const block = network.makeBlock(clock() + ahead);
        storage?.journal.add(block);
        storage?.checkpoints.made(monotonicMs() - began, network.save);
        return block.height;
      } catch (reason) {
        broken = { reason };
        throw reason;
      }
    },

    setTime(time) {
      requireOpen();
      const wanted = nanoseconds(time);
      const last = network.blocks.last().time;
      if (wanted <= last) {
        throw new RequestError(`the time ${isoText(wanted)} is not later than the last block's, ${isoText(last)}`, {
          advice: "Time goes forward only; revert to a snapshot or reset the node to go back.",
        });
      }
      if (wanted >= END_OF_TIME) {
        throw new RequestError(`the time ${isoText(wanted)} is too late`, {
          advice: `Give a time before ${isoText(END_OF_TIME)}: the network counts nanoseconds in 64 bits.`,
        });
      }
      ahead = wanted - clock();
    },

    snapshot() {
      requireOpen();
      count += 1;
      const id = String(count);
      snapshots.set(id, keep(storage?.journal.position() ?? 0));
      return id;
    },

    revert(given) {
      requireOpen();
      const { id } = checkGiven(snapshotSchema, { id: given }, "revert");
      const restore = snapshots.get(id);
      if (restore === undefined) {
        throw new RequestError(`there is no snapshot ${quoted(id)}`, {
          advice: "Give the name of a snapshot that was made; a reset and an earlier revert forget those made after.",
        });
      }
      snapshots = new Map([...snapshots].filter(([other]) => Number(other) <= Number(id)));
      restore();
    },

    reset() {
      requireOpen();
      snapshots.clear();
      begin();
    },

    failNext(failure) {
      requireOpen();
      failNext(failure);
    },

    finish() {
      // What waits is lost with the node, and so is what it has used.
      if (broken === undefined && network.chain.counts().waiting === 0) {
        storage?.checkpoints.finish(network.save);
      }
    },
  };
}

/**
 * How a snapshot is named.
 *
 * @internal
 */
export const snapshotSchema = optionsOf(
  { id: z.string("Give the name of a snapshot, as snapshot gave it.") },
  "Give the name of a snapshot.",
);

/** Bring a network to where the blocks that are kept have led. */
function goOn(network: LocalNetwork, { journal, checkpoints }: Storage): void {
  const began = monotonicMs();
  const checkpoint = checkpoints.read();
  if (checkpoint !== undefined) {
    network.restore(checkpoint.state);
  }
  let isRemade = false;
  for (const block of journal.read(checkpoint?.position)) {
    network.remake(block);
    isRemade = true;
  }
  network.chain.restart();
  if (isRemade) {
    checkpoints.made(monotonicMs() - began, network.save);
  }
}

/** The first time that clocks cannot be set to. Room is left behind it: blocks have to follow, and cursors hold 19 digits below 9. */
const END_OF_TIME = BigInt(Date.UTC(2250, 0)) * 1_000_000n;

function nanoseconds(time: unknown): bigint {
  const read = typeof time === "string" ? isoNanoseconds(time) : time instanceof Date ? dateNanoseconds(time) : time;
  if (typeof read !== "bigint" || Number.isNaN(new Date(Number(read / 1_000_000n)).getTime())) {
    throw new RequestError(`${found(time)} is no time`, {
      advice: "Give ISO 8601, such as 2024-01-31T12:30:00Z, a Date, or Unix nanoseconds.",
    });
  }
  return (read / 1000n) * 1000n; // Blocks have whole microseconds.
}

const dateNanoseconds = (date: Date) =>
  Number.isNaN(date.getTime()) ? undefined : BigInt(date.getTime()) * 1_000_000n;

const isoText = (time: bigint) => new Date(Number(time / 1_000_000n)).toISOString();
