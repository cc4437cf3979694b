import { type StopTimer, startTimer } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import type { Sink } from "../sink.js";
import { coverageOf } from "./coverage-picture.js";
import type { SyncState } from "./sync-state.js";

export type { Picture, PictureQuery, PictureRow } from "./coverage-picture.js";
export { coverageOf } from "./coverage-picture.js";
export type { QueueCounts } from "./metrics.js";
export {
  type Done,
  type ErrorReport,
  isReady,
  type Lag,
  type LagReport,
  type Loaded,
  type NodeReport,
  type Phase,
  type Rates,
  type SyncSnapshot,
  type TableProgress,
  type UnitUnderWay,
} from "./sync-snapshot.js";
export { createSyncState, type SyncState, type SyncStateOptions } from "./sync-state.js";
export { startWatch, type Watch, type WatchOptions } from "./watch-server.js";

/** Milliseconds between two attempts before there is a plan. */
const FIRST_MS = 500;

/**
 * Updates the picture of a state from its sink: after the first plan, and periodically, because other processes may load into it,
 * too.
 *
 * @param state the state
 * @param sink the sink, opened or inspected; if it cannot be read, the picture is unchanged until the next time
 * @param options `everyMs`: milliseconds between two readings, 5 minutes by default; `signal` ends them
 * @returns a function that ends the updates; a reading in progress is not awaited
 *
 * @example
 * const state = createSyncState();
 * const stop = refreshCoverage(state, sink, { signal });
 * await syncHistory(client, { sink, signal, hooks: { onEvent: state.take } });
 * stop();
 */
export function refreshCoverage(
  state: SyncState,
  sink: Sink,
  {
    everyMs = 300_000,
    signal,
  }: { readonly everyMs?: number | undefined; readonly signal?: AbortSignal | undefined } = {},
): () => void {
  const controller = linkedController(signal);
  let stopTimer: StopTimer | undefined;
  const ask = async () => {
    const asked = await state
      .cover(({ tables, range, parts }) => coverageOf(sink, tables, range, parts))
      .catch(() => true);
    if (!controller.signal.aborted) {
      stopTimer = startTimer(ask, asked ? everyMs : FIRST_MS, { ref: false });
    }
  };
  controller.signal.addEventListener("abort", () => stopTimer?.());
  if (!controller.signal.aborted) {
    void ask();
  }
  return () => controller.abort();
}
