import type { Hooks } from "../hooks.js";

/**
 * Make hooks that change no call's outcome: what a hook throws, at once or later, becomes a warning of the process, one
 * for each kind of hook.
 *
 * @param hooks the caller's hooks
 * @returns hooks that never throw; those that the caller left out stay out
 */
export function observing(hooks: Hooks): Hooks {
  const warned = new Set<keyof Hooks>();

  function observe(kind: keyof Hooks, hook: () => unknown): void {
    const warn = (reason: unknown) => {
      if (!warned.has(kind)) {
        warned.add(kind);
        const message = `the hook ${kind} threw, which changes no call: ${String(reason)}`;
        process.emitWarning(message, "TradewireWarning");
      }
    };
    try {
      Promise.resolve(hook()).catch(warn); // The hook may be asynchronous.
    } catch (reason) {
      warn(reason);
    }
  }

  const { onCallStart, onBytes, onCallEnd, onRetry, onWait, onFallback } = hooks;
  return {
    ...(onCallStart && { onCallStart: (call) => observe("onCallStart", () => onCallStart.call(hooks, call)) }),
    ...(onBytes && { onBytes: (call, bytes) => observe("onBytes", () => onBytes.call(hooks, call, bytes)) }),
    ...(onCallEnd && { onCallEnd: (call, end) => observe("onCallEnd", () => onCallEnd.call(hooks, call, end)) }),
    ...(onRetry && { onRetry: (retry) => observe("onRetry", () => onRetry.call(hooks, retry)) }),
    ...(onWait && { onWait: (wait) => observe("onWait", () => onWait.call(hooks, wait)) }),
    ...(onFallback && { onFallback: (info) => observe("onFallback", () => onFallback.call(hooks, info)) }),
  };
}
