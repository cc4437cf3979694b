import { observer } from "../errors/observer.js";
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
