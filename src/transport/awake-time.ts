/** A timer that is later than this, in milliseconds, was held up: the event loop was blocked. */
const LATE_MS = 100;

/**
 * Calls a function after a time, unless it is stopped. Time in which the event loop was blocked does not count, as what
 * came meanwhile is not read yet: Node runs timers first.
 *
 * @param ms the time, in milliseconds
 * @param onOver called when the time is over
 * @returns a function that stops the timer
 */
export function limitAwake(ms: number, onOver: () => void): () => void {
  let timer: NodeJS.Timeout;
  function start(leftMs: number): void {
    const due = performance.now() + leftMs;
    timer = setTimeout(() => {
      const lateMs = performance.now() - due;
      if (lateMs > LATE_MS) {
        start(lateMs);
      } else {
        onOver();
      }
    }, leftMs);
  }
  start(ms);
  return () => clearTimeout(timer);
}
