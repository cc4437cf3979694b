import { expect } from "@jest/globals";

/** Whether the slower tier runs. There a file of the quick one may be imported by another, which tries all that it has. */
export function isFull(): boolean {
  return expect.getState().testPath?.endsWith(".full.test.ts") === true;
}

/** Choose what the quick tier tries of many alike. */
export function sample<T>(all: readonly T[], part: number, turn = 0): T[] {
  return all.filter((_, index) => isFull() || index % part === turn % part);
}

/** Say how many made-up inputs a property is tried with: a third in the quick tier. */
export function runs(all: number): number {
  return isFull() ? all : Math.ceil(all / 3);
}
