import type { Unit } from "../unit.js";

/** A unit whose attempts all failed. */
export interface DeadLetter {
  readonly id: string;
  readonly unit: Unit;
  /** Number of attempts. */
  readonly tries: number;
  /** The error of the last attempt, in one line. */
  readonly error: string;
  /** Advice on what to do. */
  readonly advice: string;
  /** A gRPC status code. */
  readonly code: number;
  /** The node that was asked. */
  readonly node: string | undefined;
  /** When the last attempt failed, ISO 8601 in UTC. */
  readonly at: string;
}
