/** What follows a signal, and the one listener that tells it. */
interface Followers {
  readonly all: Set<() => void>;
  readonly tell: () => void;
}

const followed = new WeakMap<AbortSignal, Followers>();

type Listener = Parameters<AbortSignal["addEventListener"]>;

/** A controller that tells by itself what follows its signal. */
export interface OwnController {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

/** Where a signal keeps its own controller. */
const own = Symbol("own controller");
type OwnSignal = AbortSignal & {
  readonly [own]?: { readonly all: (() => void)[]; readonly abort: OwnController["abort"] };
};

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
  const entry = () => onAbort(); // The same function may follow twice.
  const owner = ownerOf(signal);
  if (owner !== undefined) {
    owner.all.push(entry);
    return () => {
      const at = owner.all.indexOf(entry);
      if (at >= 0) {
        owner.all.splice(at, 1);
      }
    };
  }
  const { all, tell } = followersOf(signal);
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

/**
 * Make a controller whose signal is Node's only when someone listens at it, or when it is aborted. To make Node's own
 * takes as long as most of a small call, and {@link follow} needs none. The signal is for code that takes what has the
 * properties of one, as all does but `AbortSignal.any` and `fetch`.
 *
 * @returns the controller
 */
export function ownController(): OwnController {
  const all: (() => void)[] = [];
  let made: AbortController | undefined;
  const nodes = () => {
    if (made === undefined) {
      made = new AbortController();
      if (signal.aborted) {
        made.abort(signal.reason);
      }
    }
    return made.signal;
  };
  const signal = {
    // No accessors: V8 would keep something for each object that has its own.
    aborted: false,
    reason: undefined as unknown,
    onabort: null,
    throwIfAborted() {
      if (signal.aborted) {
        throw signal.reason;
      }
    },
    addEventListener: (...listener: Listener) => nodes().addEventListener(...listener),
    removeEventListener: (...listener: Listener) => made?.signal.removeEventListener(...listener),
    dispatchEvent: (event: Event) => nodes().dispatchEvent(event),
    [own]: { all, abort },
  };

  function abort(reason: unknown): void {
    if (!signal.aborted) {
      signal.aborted = true;
      signal.reason = reason ?? new DOMException("This operation was aborted", "AbortError");
      made?.abort(signal.reason);
      for (const entry of all.splice(0)) {
        entry();
      }
    }
  }

  return { signal, abort };
}

/**
 * Find the own controller of a signal.
 *
 * @param signal the signal
 * @returns the controller; undefined where the signal was made in another way than by {@link ownController}
 */
export function controllerOf(signal: AbortSignal | undefined): OwnController | undefined {
  const abort = ownerOf(signal)?.abort;
  return signal === undefined || abort === undefined ? undefined : { signal, abort };
}

function ownerOf(signal: OwnSignal | undefined) {
  return signal?.[own];
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
