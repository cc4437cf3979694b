import type { Streams } from "../output.js";

/** A block of lines at the end of a terminal, which is redrawn in its place. */
export interface Display {
  /** Draw the lines in place of those before. Those that are too long are cut. */
  draw(lines: readonly string[]): void;
  /** Write text above the block. */
  write(text: string): void;
  /** Remove the block. */
  end(): void;
}

/** What a terminal takes that tells nothing of its size. */
const [COLUMNS, ROWS] = [80, 24];

/** The size of a terminal in characters. */
export function sizeOf({ columns, rows }: Streams["err"]): { readonly columns: number; readonly rows: number } {
  return { columns: columns || COLUMNS, rows: rows || ROWS };
}

/**
 * Make a display. The cursor stays visible, below the block, and each write is one that leaves the terminal as it was:
 * whatever ends the process, there is nothing to put back.
 *
 * @param err the terminal
 * @returns the display
 */
export function createDisplay(err: Streams["err"]): Display {
  let drawn: readonly string[] = [];

  /** Moves to the first line of the block. A terminal that has become narrower has broken its lines. */
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
      // Wide characters may make a line longer than it is counted: lines are not to be broken.
      err.write(`\x1b[?7l${top}${block()}\x1b[J\x1b[?7h`);
    },
    write(text) {
      err.write(`${toTop()}\x1b[J${text}\x1b[?7l${block()}\x1b[?7h`);
    },
    end() {
      if (drawn.length > 0) {
        err.write(`${toTop()}\x1b[J`);
        drawn = [];
      }
    },
  };
}
