import { monotonicMs } from "../base/runtime/index.js";
import { size, span, wrappedLines } from "./formatting.js";
import { type Streams, widthOf } from "./output.js";

/** Removes the line that the cursor is in. */
const CLEAR = "\r\x1b[K";

/** Returns a terminal that breaks text at words, and replaces a progress line by it; any other stream as it is. */
export function textTerminal(err: Streams["err"], environment: Streams["environment"]): Streams["err"] {
  if (err.isTTY !== true) {
    return err;
  }
  let isProgress = false;
  const write = (text: string) => {
    const isText = !text.includes("\x1b");
    const before = isText && isProgress ? CLEAR : "";
    isProgress = !isText && text.startsWith(CLEAR) && text !== CLEAR;
    return err.write(isText ? before + wrappedLines(text, widthOf({ out: err, environment })) : text);
  };
  return Object.create(err, { write: { value: write } });
}

/** Milliseconds between two updates of the progress line. */
const INTERVAL = 200;

interface Progress {
  /** The bytes received so far. */
  readonly bytes: number;
  /** The share that is done, from 0 to 1, if the total is known. */
  readonly part?: number | undefined;
}

/** A line on the terminal that shows progress. */
export interface ProgressLine {
  update(progress: Progress): void;
  /** Removes the line, before other text is written. */
  end(): void;
}

/**
 * Shows progress in a line on the terminal, which first says that the command waits for the node. Nothing is written if the
 * stream is not a terminal.
 */
export function createProgress({ notes, environment }: Pick<Streams, "notes" | "environment">): ProgressLine {
  const isShown = notes.isTTY === true && environment["TERM"] !== "dumb";
  const start = monotonicMs();
  let shownAt = Number.NEGATIVE_INFINITY;
  let isEnded = false;
  /** The share that an earlier run of the export left, which says nothing about the speed of this one. */
  let initialPart: number | undefined;
  const show = (text: string) => notes.write(`${CLEAR}${text}`);
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
      initialPart ??= part ?? 0;
      const done = (part ?? 0) - initialPart;
      const remaining =
        part === undefined || done === 0
          ? `${seconds.toFixed(0)} s`
          : `${Math.floor(part * 100)} %, ${span((seconds / done) * (1 - part))} left`;
      show(`${size(bytes)}, ${size(bytes / seconds)}/s, ${remaining}`);
    },
    end() {
      if (isShown && !isEnded) {
        notes.write(CLEAR);
      }
      isEnded = true;
    },
  };
}

/** A block of lines at the end of a terminal, which is redrawn in place. */
export interface Display {
  /** Replaces the previous lines. Lines that are too long are truncated. */
  draw(lines: readonly string[]): void;
  /** Writes text above the block. */
  write(text: string): void;
  /** Removes the block. */
  end(): void;
}

/** The size of a terminal of unknown size. */
const [COLUMNS, ROWS] = [80, 24];

export function sizeOf({ columns, rows }: Streams["err"]): { readonly columns: number; readonly rows: number } {
  return { columns: columns || COLUMNS, rows: rows || ROWS };
}

/**
 * Creates a display. The cursor stays visible, below the block, and each write restores the modes of the terminal, so that no
 * cleanup is needed, however the process ends.
 */
export function createDisplay(err: Streams["err"]): Display {
  let drawn: readonly string[] = [];

  /** Returns the codes that move to the first line of the block. A terminal that became narrower has wrapped its lines. */
  const toTop = () => {
    const { columns, rows } = sizeOf(err);
    const height = drawn.reduce((lines, { length }) => lines + Math.max(1, Math.ceil(length / columns)), 0);
    const up = Math.min(height, rows - 1);
    return up === 0 ? "\r" : `\r\x1b[${up}A`;
  };
  const block = () => drawn.map((line) => `${line}\x1b[K\n`).join("");

  return {
    draw(lines) {
      const { columns } = sizeOf(err);
      const top = toTop();
      drawn = lines.map((line) => line.slice(0, columns - 1));
      // Wide characters may make a line longer than its length, so the terminal must not wrap it.
      err.write(`\x1b[?7l${top}${block()}\x1b[J\x1b[?7h`);
    },
    write(text) {
      err.write(`${toTop()}\x1b[J${wrappedLines(text, sizeOf(err).columns)}\x1b[?7l${block()}\x1b[?7h`);
    },
    end() {
      if (drawn.length > 0) {
        err.write(`${toTop()}\x1b[J`);
        drawn = [];
      }
    },
  };
}
