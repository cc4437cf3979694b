const { gc: collectGarbage } = globalThis;

/** Measure the memory of this process that is in use, without what is garbage. */
export function usedMemory(): number {
  if (collectGarbage === undefined) {
    throw new Error("garbage cannot be collected: run Node with --expose-gc");
  }
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
