import { SINK_SECTIONS } from "./sections.js";
import { TradewireError, type TradewireErrorOptions } from "./tradewire-error.js";

/**
 * A sink of a sync could not be opened, read or written. Its code says what helps: `UNAVAILABLE` where the sink cannot be
 * reached now, `ABORTED` where the same unit may be tried again at once, others where trying again does not help.
 */
export class SinkError extends TradewireError {
  constructor(summary: string, options: TradewireErrorOptions) {
    super(summary, { section: SINK_SECTIONS[options.code] ?? "sinkerror", ...options });
  }
}
