import { sizeOf } from "../json/message-size.js";

/** Values that came together. */
interface Batch {
  /** How many of them wait. */
  left: number;
  readonly bytes: number;
}

/** What waits, in the order in which it came. */
export interface Queue<T extends object> {
  readonly size: number;
  /** The size on the wire of all batches that still have a value waiting, in bytes. */
  readonly bytes: number;
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
  let batches: Batch[] = [];
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    get size() {
      return came.length + reversed.length;
    },
    add(values) {
      const size = sizeOf(values);
      if (values.length > 0) {
        batches.push({ left: values.length, bytes: size });
        bytes += size;
      }
      for (const value of values) {
        came.push(value);
      }
    },
    take() {
      if (reversed.length === 0) {
        [reversed, came] = [came.reverse(), reversed];
      }
      const value = reversed.pop();
      const [batch] = batches;
      if (value !== undefined && batch !== undefined) {
        batch.left -= 1;
        if (batch.left === 0) {
          bytes -= batch.bytes;
          batches.shift();
        }
      }
      return value;
    },
    clear() {
      [came, reversed, batches, bytes] = [[], [], [], 0];
    },
  };
}
