// Every call of a long life: how it ended, whether it ended at all, and whether what it failed with has a name.
import { TradewireError } from "tradewire";

/** How long after its limit a call may still run, in milliseconds. Then it is stuck. */
const GRACE_MS = 10_000;
/** The most problems of which the words are kept. */
const MAX_PROBLEMS = 100;
/** The most different errors that are counted apart. */
const MAX_ERRORS = 300;

/** Make what keeps track of calls. */
export function createTracker() {
  const kinds = new Map();
  const errors = new Map();
  const problems = new Map();
  const running = new Set();
  let isOver = false;

  /** Note that a check has failed; the same words count once more. */
  function problem(check, what, stack) {
    const key = `${check}: ${what}`;
    const known = problems.get(key);
    if (known !== undefined) {
      known.count += 1;
    } else if (problems.size < MAX_PROBLEMS) {
      problems.set(key, { check, what, stack, count: 1 });
    }
  }

  function countsOf(kind, transport) {
    const key = `${kind} ${transport}`;
    const counts = kinds.get(key) ?? { kind, transport, made: 0, failed: 0, canceled: 0, good: 0 };
    kinds.set(key, counts);
    return counts;
  }

  function failed(kind, transport, error, wasAborted) {
    const counts = countsOf(kind, transport);
    if (!(error instanceof TradewireError)) {
      problem("errors are the library's", `${kind} over ${transport}: ${error}`, error?.stack);
    } else if (error.name === "CanceledError" && wasAborted) {
      counts.canceled += 1;
      return;
    } else if (error.name === "CanceledError") {
      problem("nothing is canceled by itself", `${kind} over ${transport}: ${error.summary}`, error.stack);
    }
    counts.failed += 1;
    const said = String(error.summary ?? error).replace(/[0-9a-f]{16,}|\d+/gi, "N");
    const key = `${error.name} ${kind}: ${said.slice(0, 160)}`;
    if (errors.has(key) || errors.size < MAX_ERRORS) {
      errors.set(key, (errors.get(key) ?? 0) + 1);
    }
  }

  const checking = setInterval(() => {
    const now = performance.now();
    for (const call of running) {
      if (now > call.endsBy + GRACE_MS && !call.isStuck) {
        call.isStuck = true;
        problem("no call is stuck", `${call.kind} over ${call.transport}, ${call.about()}`);
      }
    }
  }, 1000);

  return {
    problem,
    running,
    get isOver() {
      return isOver;
    },
    /** Note that something came within a call that goes on: an event, rows, a unit. */
    came: (kind, transport) => {
      countsOf(kind, transport).good += 1;
    },
    /** Make a call. */
    async call(kind, transport, limitMs, run) {
      if (isOver) {
        return undefined;
      }
      const controller = new AbortController();
      const began = performance.now();
      const call = {
        kind,
        transport,
        controller,
        isStuck: false,
        endsBy: began + limitMs,
        about: () => `limit ${Math.round(limitMs)} ms, ${isOver ? "at the end" : "on the way"}`,
      };
      const timer = Number.isFinite(limitMs) ? setTimeout(() => controller.abort(), limitMs) : undefined;
      running.add(call);
      countsOf(kind, transport).made += 1;
      try {
        const value = await run(controller.signal);
        countsOf(kind, transport).good += 1;
        return value;
      } catch (error) {
        failed(kind, transport, error, controller.signal.aborted);
        return undefined;
      } finally {
        clearTimeout(timer);
        running.delete(call);
      }
    },
    /** Abort all calls, and begin no more. */
    stop() {
      isOver = true;
      for (const call of running) {
        call.controller.abort();
        call.endsBy = Math.min(call.endsBy, performance.now());
      }
    },
    /** Count calls as before after a stop. */
    goOn() {
      isOver = false;
    },
    close: () => clearInterval(checking),
    counts: () => [...kinds.values()].map((counts) => ({ ...counts })),
    errors: () => [...errors].map(([what, count]) => ({ what, count })),
    problems: () => [...problems.values()],
  };
}
