import { TradewireError } from "../errors/index.js";
import { reactionTo } from "../errors/reaction.js";
import { requireGoing, wait } from "../signal/wait.js";
import { createReach } from "./reach.js";
import type { Tell } from "./tell.js";

/** How patient a sync is. */
export interface Patience {
  /** How long a node or sink that cannot be reached is waited for, in milliseconds. */
  readonly patienceMs: number;
  readonly tell: Tell;
  readonly signal: AbortSignal;
}

/**
 * Do what concerns no unit, such as asking for the history, and again as long as the node or the sink cannot be reached.
 *
 * @param act does it
 * @param patience how long it is tried, who is told, and what ends it
 * @returns what `act` returns
 * @throws what `act` throws where trying again does not help, or did not for too long; {@link CanceledError} where the
 *   signal was aborted
 */
export async function patiently<T>(act: () => Promise<T>, { patienceMs, tell, signal }: Patience): Promise<T> {
  const reach = createReach(patienceMs);
  for (;;) {
    requireGoing(signal);
    try {
      return await act();
    } catch (reason) {
      requireGoing(signal);
      if (!(reason instanceof TradewireError) || !reactionTo(reason).repeat) {
        throw reason;
      }
      const againMs = reach.failed(reason, true);
      if (reach.givenUp) {
        throw reason;
      }
      tell({ case: "waiting", error: reason, againMs });
      await wait(againMs, signal);
    }
  }
}
