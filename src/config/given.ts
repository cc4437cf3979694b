import { resolve } from "node:path";
import type { ConfigKey } from "./keys.js";

/** A value on its way into the configuration. */
export interface Given {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly source: string;
}

/** A file's path made absolute; any other value as it is. */
export function absolute(value: unknown, key: ConfigKey | undefined, directory: string): unknown {
  return key?.kind === "file" && typeof value === "string" && value !== "" ? resolve(directory, value) : value;
}

/** Whether a value is an object with keys, and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
