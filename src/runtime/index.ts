export { monotonicMs, unixMs } from "./clock.js";
export { fillRandom, randomBytes, randomFraction, randomUUID } from "./random.js";
export { nodeRuntime, type Runtime, replaceRuntime, type StopTimer, type TimerOptions } from "./runtime.js";
export {
  MAX_TIMER_MS,
  startAwakeTimer,
  startImmediate,
  startInterval,
  startTimer,
  timeoutSignal,
  yieldToEventLoop,
} from "./timers.js";
