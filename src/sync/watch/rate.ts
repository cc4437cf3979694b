/** How many slots a window has: the rate forgets the past in steps of that part of it. */
const SLOTS = 60;

/** A rate over a sliding window. */
export interface Rate {
  /** Count an amount. The first call begins the measurement. */
  add(amount: number): void;
  /** The amount per second over the window, or since the measurement began, where that is less. */
  perSecond(): number;
}

/**
 * Measure a rate over a sliding window, in a fixed amount of memory.
 *
 * @param windowMs the window's length in milliseconds
 * @param now tells the time in milliseconds
 * @returns the rate
 *
 * @example
 * const bytes = createRate(60_000, () => performance.now());
 * bytes.add(chunk.length);
 */
export function createRate(windowMs: number, now: () => number): Rate {
  const slotMs = windowMs / SLOTS;
  const slots = new Float64Array(SLOTS);
  let began: number | undefined;
  let newest = 0;
  const slide = (since: number) => {
    const slot = Math.floor((now() - since) / slotMs);
    for (let passed = Math.max(newest + 1, slot - SLOTS + 1); passed <= slot; passed += 1) {
      slots[passed % SLOTS] = 0;
    }
    newest = Math.max(newest, slot);
  };
  return {
    add(amount) {
      began ??= now();
      slide(began);
      slots[newest % SLOTS] = (slots[newest % SLOTS] ?? 0) + amount;
    },
    perSecond() {
      if (began === undefined) {
        return 0;
      }
      slide(began);
      const ms = Math.max(1000, Math.min(now() - began, windowMs));
      return (slots.reduce((sum, amount) => sum + amount, 0) / ms) * 1000;
    },
  };
}
