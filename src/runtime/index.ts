export { monotonicMs, unixMs } from "./clock.js";
export { connect } from "./connect.js";
export { fillRandom, randomBytes, randomFraction, randomUUID } from "./random.js";
export {
  type ConnectionOptions,
  nodeRuntime,
  type Runtime,
  replaceRuntime,
  type StopTimer,
  type TimerOptions,
} from "./runtime.js";
export {
  MAX_TIMER_MS,
  startAwakeTimer,
  startImmediate,
  startInterval,
  startTimer,
  timeoutSignal,
  yieldToEventLoop,
} from "./timers.js";
