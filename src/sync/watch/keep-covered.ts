import { type StopTimer, startTimer } from "../../runtime/index.js";
import { followingController } from "../../signal/follow.js";
import type { Sink } from "../sink.js";
import { coverageOf } from "./coverage.js";
import type { SyncState } from "./state.js";

/** Milliseconds between two tries before there is a plan. */
const FIRST_MS = 500;

/**
 * Keep the picture of a state like its sink: the sink is asked once the first plan was made, and again now and then, as
 * others may load into it, too.
 *
 * @param state the state
 * @param sink the sink, opened or inspected; where it cannot be asked, the picture stays as it was until the next time
 * @param options `everyMs`: milliseconds between two questions, 5 minutes by default; `signal` ends it
 * @returns ends it; a question under way is not waited for
 *
 * @example
 * const state = createSyncState();
 * const leave = keepCovered(state, sink, { signal });
 * await syncHistory(client, { sink, signal, hooks: { onEvent: state.take } });
 * leave();
 */
export function keepCovered(
  state: SyncState,
  sink: Sink,
  { everyMs = 300_000, signal }: { readonly everyMs?: number; readonly signal?: AbortSignal | undefined } = {},
): () => void {
  const controller = followingController(signal);
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
