import type { ExportProgress } from "../history/network-history-export.js";
import { type Streams, size } from "./output.js";

/** Milliseconds between two updates of the progress line. */
const INTERVAL = 200;

/**
 * Create a line on a terminal that shows the progress of an export. Nothing is written if the stream is not a terminal.
 *
 * @param err the stream to write to
 * @returns functions that update the line and remove it
 */
export function createProgress(err: Streams["err"]): { update(progress: ExportProgress): void; end(): void } {
  const start = performance.now();
  let shown = 0;
  return {
    update({ bytes }) {
      const now = performance.now();
      if (err.isTTY !== true || now - shown < INTERVAL) {
        return;
      }
      shown = now;
      const seconds = (now - start) / 1000;
      err.write(`\r\x1b[K${size(bytes)}, ${size(bytes / seconds)}/s, ${seconds.toFixed(0)} s`);
    },
    end() {
      if (shown > 0) {
        err.write("\r\x1b[K");
      }
    },
  };
}
