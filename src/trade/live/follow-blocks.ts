import { startTimer } from "../../base/runtime/index.js";
import type { BlockWatch, ResultObserver } from "./block-watch.js";

/** How long it waits before blocks are followed again after the stream has failed, in milliseconds. */
const FOLLOW_AGAIN_MS = 5_000;

/**
 * Keeps the stream of blocks open, so that the client knows the hashes of recent blocks, which deadlines of
 * transactions need.
 */
export function followBlocks(
  watch: BlockWatch,
  signal: AbortSignal,
  observer: Partial<Pick<ResultObserver, "ended" | "stopOrder">> = {},
): () => void {
  let stopTimer = (): void => {};
  let stop = (): void => {};
  const ignore = () => undefined;
  const observe = () => {
    stop = watch.observe({
      result: ignore,
      stopOrder: ignore,
      ended: ignore,
      missed: ignore,
      ...observer,
      failed() {
        stop();
        if (!signal.aborted) {
          stopTimer = startTimer(observe, FOLLOW_AGAIN_MS, { ref: false });
        }
      },
    });
  };
  observe();
  return () => {
    stopTimer();
    stop();
  };
}
