import type { Unit } from "../unit.js";

/** A unit that was tried too often. */
export interface DeadLetter {
  readonly id: string;
  readonly unit: Unit;
  /** How often it was tried. */
  readonly tries: number;
  /** The error of the last attempt, in one line. */
  readonly error: string;
  /** What to do about it. */
  readonly advice: string;
  /** A gRPC status code. */
  readonly code: number;
  /** The node that was asked. */
  readonly node: string | undefined;
  /** When it was given up, ISO 8601 in UTC. */
  readonly at: string;
}
