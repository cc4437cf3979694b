import type { CallOptions } from "@connectrpc/connect";
import { wait } from "../../base/signal/wait.js";
import { isNotOffered } from "./live-call.js";

/** A service that reports the time of the last block that it has begun: the core, or the data node. */
interface BlockClock {
  getVegaTime(request: object, options: CallOptions): Promise<{ readonly timestamp: bigint }>;
}

/** The core and the data node of a node. Their calls throw the library's errors. */
export interface BlockClocks {
  readonly core: BlockClock;
  readonly data: BlockClock;
}

/** The time between two readings of the data node's time, in milliseconds. */
const POLL_MS = 100;

/** Later than any block. */
const ALL_TIME = 2n ** 63n - 1n;

/**
 * Returns the time of the last block that the core has begun.
 *
 * @throws the errors of the call
 */
export const coreTime = (core: BlockClock, options: CallOptions): Promise<bigint> => begunTime(core, options, 0n);

/**
 * Returns the time of the last block that the data node has begun. It lists what came before.
 *
 * @throws the errors of the call
 */
export const listedTime = (data: BlockClock, options: CallOptions): Promise<bigint> =>
  begunTime(data, options, ALL_TIME);

async function begunTime(clock: BlockClock, options: CallOptions, otherwise: bigint): Promise<bigint> {
  try {
    return (await clock.getVegaTime({}, options)).timestamp;
  } catch (reason) {
    if (isNotOffered(reason)) {
      return otherwise;
    }
    throw reason;
  }
}

/**
 * Waits until the data node lists all that the core has executed until now. A data node sends the events of a block before it
 * commits the block, and commits a block before it begins the next one (v0.78.0, `processBlock` in
 * datanode/broker/sqlstore_broker.go), so it lists a block for certain when its time is that of a later one.
 *
 * @throws the errors of the calls, and {@link CanceledError} if the signal is aborted
 */
export async function untilListed({ core, data }: BlockClocks, options: CallOptions): Promise<void> {
  const present = await coreTime(core, options);
  while ((await listedTime(data, options)) <= present) {
    await wait(POLL_MS, options.signal);
  }
}

/** The state of a record in time. A listing and the events may have different states of one record. */
export interface RecordAge {
  /** How often the record was changed, where records of its kind count that. */
  readonly version?: bigint;
  /** The time of the last change, in Unix nanoseconds. */
  readonly updatedAt: bigint;
}

/** PostgreSQL stores no smaller part of a time, and events have nanoseconds (v0.78.0, datanode/entities/orders.go). */
const MICROSECOND_NS = 1000n;

/**
 * Returns whether a state of a record is older than another one: by their versions, or if these are equal, by their times in
 * microseconds, as data nodes store them.
 */
export function isOlder(one: RecordAge, other: RecordAge): boolean {
  const [version = 0n, otherVersion = 0n] = [one.version, other.version];
  return (
    version < otherVersion ||
    (version === otherVersion && one.updatedAt / MICROSECOND_NS < other.updatedAt / MICROSECOND_NS)
  );
}
