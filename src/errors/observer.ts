/**
 * Wraps a caller's event hook. If the hook throws or rejects, the process emits one warning, and nothing else changes.
 *
 * @param onEvent the caller's hook, if any
 * @param what the source of the events for the warning, such as "the sync"
 * @param hook the hook's name for the warning
 * @returns a function that calls the hook with an event and never throws
 */
export function createEventReporter<Event>(
  onEvent: ((event: Event) => void) | undefined,
  what: string,
  hook = "onEvent",
): (event: Event) => void {
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
  return (event) => {
    try {
      Promise.resolve<unknown>(onEvent?.(event)).catch(warn); // The function may be asynchronous.
    } catch (reason) {
      warn(reason);
    }
  };
}
