import { monotonicMs } from "../runtime/index.js";
import { type Streams, size } from "./output.js";
import { span } from "./sync/figures.js";

/** Milliseconds between two updates of the progress line. */
const INTERVAL = 200;

/** What is known of something under way. */
export interface Progress {
  /** The bytes that have come. */
  readonly bytes: number;
  /** The part that is done, from 0 to 1, where the whole is known. */
  readonly part?: number | undefined;
}

/** A line that shows how something goes. */
export interface ProgressLine {
  update(progress: Progress): void;
  /** Remove the line, before something else is written. */
  end(): void;
}

/**
 * Show how something goes in a line on a terminal, from the wait for the node on. Nothing is written if the stream is not
 * a terminal.
 *
 * @param streams the stream to write to, and the environment variables
 * @returns functions that update the line and remove it
 */
export function createProgress({ notes, environment }: Pick<Streams, "notes" | "environment">): ProgressLine {
  const isShown = notes.isTTY === true && environment["TERM"] !== "dumb";
  const start = monotonicMs();
  let shownAt = Number.NEGATIVE_INFINITY;
  let isEnded = false;
  /** What was there from the beginning, of an export that goes on, says nothing of the pace. */
  let before: number | undefined;
  const show = (text: string) => notes.write(`\r\x1b[K${text}`);
  if (isShown) {
    show("waiting for the node …");
  }
  return {
    update({ bytes, part }) {
      const now = monotonicMs();
      if (!isShown || isEnded || now - shownAt < INTERVAL) {
        return;
      }
      shownAt = now;
      const seconds = (now - start) / 1000;
      before ??= part ?? 0;
      const done = (part ?? 0) - before;
      const whole =
        part === undefined || done === 0
          ? `${seconds.toFixed(0)} s`
          : `${Math.floor(part * 100)} %, ${span((seconds / done) * (1 - part))} left`;
      show(`${size(bytes)}, ${size(bytes / seconds)}/s, ${whole}`);
    },
    end() {
      if (isShown && !isEnded) {
        notes.write("\r\x1b[K");
      }
      isEnded = true;
    },
  };
}
