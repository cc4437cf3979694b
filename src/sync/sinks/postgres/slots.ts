import { follow } from "../../../signal/follow.js";

/** Let so many in at once; the others wait in their order, until their signals are aborted. */
export interface Slots {
  take(signal: AbortSignal): Promise<void>;
  give(): void;
}

/**
 * Make slots.
 *
 * @param count how many are let in at once
 * @returns the slots, all of them free
 */
export function makeSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let free = count;
  return {
    take(signal: AbortSignal): Promise<void> {
      return new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (free > 0) {
          free -= 1;
          resolve();
          return;
        }
        const leave = follow(signal, () => {
          waiting.splice(waiting.indexOf(enter), 1);
          reject(signal.reason);
        });
        const enter = () => {
          leave();
          resolve();
        };
        waiting.push(enter);
      });
    },
    give(): void {
      const next = waiting.shift();
      if (next === undefined) {
        free += 1;
      } else {
        next();
      }
    },
  };
}
