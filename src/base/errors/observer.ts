import { withJson } from "../json-result.js";

/**
 * Wraps a caller's event hook. If the hook throws or rejects, the process emits one warning, and nothing else changes.
 */
export function createEventReporter<Event extends unknown[]>(
  onEvent: ((...event: Event) => void) | undefined,
  what: string,
  hook = "onEvent",
): (...event: Event) => void {
  let warned = false;
  const warn = (reason: unknown) => {
    if (!warned) {
      warned = true;
      process.emitWarning(
        `the hook ${hook} threw an error, which does not affect ${what}: ${String(reason)}`,
        "TradewireWarning",
      );
    }
  };
  return (...event) => {
    try {
      Promise.resolve<unknown>(onEvent?.(...withJson(event))).catch(warn); // The function may be asynchronous.
    } catch (reason) {
      warn(reason);
    }
  };
}
