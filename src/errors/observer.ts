/**
 * Make what tells a caller's function of events. What the function throws, at once or later, becomes one warning of the
 * process and changes nothing.
 *
 * @param onEvent the caller's function, if any
 * @param what is told of, for the warning, such as "the sync"
 * @returns tells it; never throws
 */
export function observer<Event>(onEvent: ((event: Event) => void) | undefined, what: string): (event: Event) => void {
  let warned = false;
  const warn = (reason: unknown) => {
    if (!warned) {
      warned = true;
      process.emitWarning(
        `the hook onEvent threw, which changes nothing in ${what}: ${String(reason)}`,
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
