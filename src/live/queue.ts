/** What waits, in the order in which it came. */
export interface Queue<T extends object> {
  readonly size: number;
  add(values: readonly T[]): void;
  /** Take the first one; undefined where none waits. */
  take(): T | undefined;
  clear(): void;
}

/**
 * Make a queue. To take one costs the same however many wait, which is not so for the first element of an array.
 *
 * @returns the queue
 */
export function createQueue<T extends object>(): Queue<T> {
  let came: T[] = [];
  let reversed: T[] = [];
  return {
    get size() {
      return came.length + reversed.length;
    },
    add(values) {
      for (const value of values) {
        came.push(value);
      }
    },
    take() {
      if (reversed.length === 0) {
        [reversed, came] = [came.reverse(), reversed];
      }
      return reversed.pop();
    },
    clear() {
      [came, reversed] = [[], []];
    },
  };
}
