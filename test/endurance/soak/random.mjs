// Random choices that are the same for the same seed (mulberry32).

/** Make a source of random choices. */
export function createRandom(seed) {
  let state = seed >>> 0;
  function next() {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    next,
    /** A number between two. */
    between: (low, high) => low + next() * (high - low),
    /** A whole number from 0 to below another. */
    below: (count) => Math.floor(next() * count),
    of: (list) => list[Math.floor(next() * list.length)],
    /** Whether something happens that happens so often, from 0 to 1. */
    happens: (often) => next() < often,
    /** Another source, for choices that are to be independent of when these are made. */
    fork: () => createRandom(Math.floor(next() * 2 ** 32)),
  };
}
