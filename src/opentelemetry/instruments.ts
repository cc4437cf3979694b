import { type Counter, createNoopMeter, type Histogram, metrics } from "@opentelemetry/api";

/** The instruments that calls are measured with. */
export interface Instruments {
  readonly duration: Histogram;
  readonly bytes: Counter;
  readonly retries: Counter;
  readonly fallbacks: Counter;
  readonly waits: Histogram;
}

/** The bounds of the conventions, in seconds. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/**
 * Make the instruments of the meter that is registered.
 *
 * @returns the instruments; undefined where no provider of meters is registered
 */
export function createInstruments(): Instruments | undefined {
  const meter = metrics.getMeter("tradewire");
  if (meter === createNoopMeter()) {
    return undefined;
  }
  return {
    duration: meter.createHistogram("rpc.client.call.duration", {
      description: "Measures the duration of an outgoing Remote Procedure Call (RPC).",
      unit: "s",
      advice: { explicitBucketBoundaries: SECONDS },
    }),
    bytes: meter.createCounter("tradewire.client.received", {
      description: "Bytes of data that arrived, of the binary size of messages.",
      unit: "By",
    }),
    retries: meter.createCounter("tradewire.client.retries", {
      description: "Calls that were tried again.",
      unit: "{retry}",
    }),
    fallbacks: meter.createCounter("tradewire.client.fallbacks", {
      description: "Calls that were made again over another transport.",
      unit: "{fallback}",
    }),
    waits: meter.createHistogram("tradewire.client.wait.duration", {
      description: "The expected waits of calls, so that a limit on calls is kept.",
      unit: "s",
      advice: { explicitBucketBoundaries: SECONDS },
    }),
  };
}
