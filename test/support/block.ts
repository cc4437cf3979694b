/**
 * Block this process, in which neither timers run nor anything is read. It sleeps, so that other processes get the processor.
 */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
