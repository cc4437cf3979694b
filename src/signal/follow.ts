/** What follows a signal, and the one listener that tells it. */
interface Followers {
  readonly all: Set<() => void>;
  readonly tell: () => void;
}

const followed = new WeakMap<AbortSignal, Followers>();

/**
 * Call a function when a signal is aborted.
 *
 * However much follows a signal, it has one listener. Node takes more than ten for a leak and warns of it, but a service
 * may well end hundreds of calls by one signal.
 *
 * @param signal the signal, if any
 * @param onAbort is called once, and never where the signal is aborted already
 * @returns stops following; the last one to stop leaves nothing at the signal
 *
 * @example
 * const leave = follow(signal, () => abort.abort(signal?.reason));
 */
export function follow(signal: AbortSignal | undefined, onAbort: () => void): () => void {
  if (signal === undefined || signal.aborted) {
    return () => undefined;
  }
  const { all, tell } = followersOf(signal);
  const entry = () => onAbort(); // The same function may follow twice.
  all.add(entry);
  return () => {
    if (all.delete(entry) && all.size === 0) {
      signal.removeEventListener("abort", tell);
      followed.delete(signal);
    }
  };
}

/**
 * Make a controller that is aborted with a signal, for the same reason. Aborting it before leaves nothing at the signal.
 *
 * @param signal the signal, if any
 * @returns the controller
 */
export function followingController(signal: AbortSignal | undefined): AbortController {
  const controller = new AbortController();
  if (signal?.aborted === true) {
    controller.abort(signal.reason);
  } else {
    const leave = follow(signal, () => controller.abort(signal?.reason));
    controller.signal.addEventListener("abort", leave, { once: true });
  }
  return controller;
}

function followersOf(signal: AbortSignal): Followers {
  const found = followed.get(signal);
  if (found !== undefined) {
    return found;
  }
  const all = new Set<() => void>();
  const tell = () => {
    followed.delete(signal);
    for (const entry of all) {
      entry();
    }
  };
  signal.addEventListener("abort", tell, { once: true });
  followed.set(signal, { all, tell });
  return { all, tell };
}
