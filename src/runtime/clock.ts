import { current } from "./runtime.js";

/**
 * Returns the time of a clock that never goes back, for durations and deadlines.
 *
 * @returns milliseconds since any fixed moment
 */
export function monotonicMs(): number {
  return current.monotonicMs();
}

/**
 * Returns the time of the system's clock, for what is compared with other machines or shown. It may be set, and go back.
 *
 * @returns milliseconds since 1970
 */
export function unixMs(): number {
  return current.unixMs();
}
