import { randomFraction } from "../../runtime/index.js";

/** The times of a queue, in milliseconds. Tests take shorter ones. */
export interface Pace {
  /** Between two beats of a worker. */
  readonly beatMs: number;
  /** After so long without a beat a worker is silent, and its units are given to others. */
  readonly silentMs: number;
  /** Between two beats of the leader on the connection that holds its lock. */
  readonly leadBeatMs: number;
  /** After so long without a statement PostgreSQL ends the leader's connection, so that another one can lead. */
  readonly leadIdleMs: number;
  /** Between two looks of a planner: at the lock while it waits, at the queue while it leads. */
  readonly lookMs: number;
  /** The first and the longest pause of a worker that finds nothing to do. */
  readonly idleMs: readonly [first: number, longest: number];
  /** The shortest time between two readings of the nodes' history by a worker, and of what the leader has found. */
  readonly listMs: number;
  /** The same where a worker meets a unit that is newer than what its nodes have listed. */
  readonly newMs: number;
  /** How long a unit that another one holds is left alone. */
  readonly busyMs: number;
  /** How long a unit is left alone whose node cannot be reached, or which no node has. */
  readonly lostMs: number;
  /** Until the second attempt at a unit, in seconds. */
  readonly retrySeconds: number;
  /** The first and the longest rest of a node. */
  readonly restMs: readonly [first: number, longest: number];
}

/** The times of a queue. */
export const PACE: Pace = {
  beatMs: 5000,
  silentMs: 30_000,
  leadBeatMs: 5000,
  leadIdleMs: 30_000,
  lookMs: 2000,
  idleMs: [500, 10_000],
  listMs: 60_000,
  newMs: 1000,
  busyMs: 10_000,
  lostMs: 20_000,
  retrySeconds: 10,
  restMs: [1000, 60_000],
};

/**
 * Leave out a random part of a time, up to a half, so that those who wait together do not come together.
 *
 * @param ms milliseconds
 * @returns milliseconds
 */
export function jittered(ms: number): number {
  return ms * (0.5 + randomFraction() / 2);
}
