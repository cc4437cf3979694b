import { observer } from "../errors/observer.js";
import type { NodeAway, NodeLag } from "./agree.js";
import type { SyncEvent } from "./events.js";
import type { SyncHooks } from "./options.js";

/** Tells what happens in a sync. It never throws. */
export type Tell = (event: SyncEvent) => void;

/**
 * Make what tells hooks of events. What a hook throws becomes one warning of the process and changes nothing.
 *
 * @param hooks the caller's hooks, if any
 * @returns tells them
 */
export function teller(hooks: SyncHooks | undefined): Tell {
  // The hook is looked up each time: it may come or go.
  return observer((event: SyncEvent) => hooks?.onEvent?.(event), "the sync");
}

/**
 * Reports what a look at the nodes found beside their history.
 *
 * @param look the nodes that are away, and how the last blocks of the others compare
 * @param tell reports the events
 */
export function tellNodes(
  { away, lags }: { readonly away: readonly NodeAway[]; readonly lags: readonly NodeLag[] },
  tell: Tell,
): void {
  for (const { node, error } of away) {
    tell({ case: "away", node, error });
  }
  for (const { node, lag } of lags) {
    tell({ case: "lag", node, lag });
  }
}
