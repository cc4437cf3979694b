import { Writable } from "node:stream";
import type { Streams } from "./output.js";

/** Standard error for what is no error: notes and progress. */
export interface Notes {
  readonly stream: Streams["err"];
  /** From now on take nothing, as `--quiet` asks. */
  silence(): void;
}

/**
 * Make the stream for notes and progress.
 *
 * @param err standard error
 * @returns the stream, which is standard error itself until it is silenced
 */
export function createNotes(err: Streams["err"]): Notes {
  let stream = err;
  return {
    get stream() {
      return stream;
    },
    silence() {
      stream = new Writable({ write: (_, __, done) => done() });
    },
  };
}
