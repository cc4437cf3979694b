import { resolve } from "node:path";
import type { ConfigKey } from "./keys.js";

/** A value for the configuration, with the source that it comes from. */
export interface Given {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly source: string;
  /** Whether the source is a file that was found, not named. */
  readonly isFound?: boolean;
}

/**
 * Make a file's path absolute.
 *
 * @param value the value of a key
 * @param key the key; undefined where it is unknown
 * @param directory the folder that a relative path is relative to
 * @returns the absolute path where the key takes a file's path, else the value unchanged
 */
export function absolute(value: unknown, key: ConfigKey | undefined, directory: string): unknown {
  return key?.kind === "file" && typeof value === "string" && value !== "" ? resolve(directory, value) : value;
}

/**
 * Whether a value is an object with keys, and not an array.
 *
 * @param value any value
 * @returns true for an object that is neither null nor an array
 */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
