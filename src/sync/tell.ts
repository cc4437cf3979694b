import type { SyncEvent } from "./events.js";
import type { SyncHooks } from "./options.js";

/** Tells what happens in a sync. It never throws. */
export type Tell = (event: SyncEvent) => void;

/**
 * Make what tells hooks of events. What a hook throws, at once or later, becomes one warning of the process and changes
 * nothing.
 *
 * @param hooks the caller's hooks, if any
 * @returns tells them
 */
export function teller(hooks: SyncHooks | undefined): Tell {
  let warned = false;
  const warn = (reason: unknown) => {
    if (!warned) {
      warned = true;
      process.emitWarning(
        `the hook onEvent threw, which changes nothing in the sync: ${String(reason)}`,
        "TradewireWarning",
      );
    }
  };
  return (event) => {
    try {
      Promise.resolve<unknown>(hooks?.onEvent?.(event)).catch(warn); // The hook may be asynchronous.
    } catch (reason) {
      warn(reason);
    }
  };
}
