import { wait } from "../signal/wait.js";
import type { NodeAway } from "./agree.js";
import { notHeld } from "./load-unit.js";
import type { Patience } from "./patiently.js";
import { createReach } from "./reach.js";
import type { Unit } from "./unit.js";

/** Waits for units that no node has now, as nodes are away or behind. */
export interface HolderWait {
  /** There are units that nodes have. */
  reached(): void;
  /**
   * Wait a while, longer each time. The nodes are to be asked for their history behind it.
   *
   * @param unit the first unit that no node has
   * @param away the nodes that could not be asked; the first one's failure is what is told
   * @throws that failure, or that no node has the unit, where it was waited for too long; {@link CanceledError}
   */
  wait(unit: Unit, away: readonly NodeAway[]): Promise<void>;
}

/**
 * Make what waits for units that no node has now.
 *
 * @param patience how long it is waited, who is told, and what ends the wait
 * @returns waits
 */
export function createHolderWait({ patienceMs, tell, signal }: Patience): HolderWait {
  const reach = createReach(patienceMs);
  return {
    reached: () => reach.reached(),
    async wait(unit, [first]) {
      const error = first?.error ?? notHeld(unit);
      const againMs = reach.failed(error, true);
      if (reach.givenUp) {
        throw error;
      }
      tell({ case: "waiting", error, againMs });
      await wait(againMs, signal);
    },
  };
}
