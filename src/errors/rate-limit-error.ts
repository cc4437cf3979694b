import { Code } from "@connectrpc/connect";
import { TradewireError } from "./tradewire-error.js";

/** The node has banned this address for a time, because calls went on after it had refused some as too many. */
export class BannedError extends TradewireError {
  /** The end of the ban, by this machine's clock. */
  readonly until: Date;

  constructor(until: Date, cause?: unknown) {
    super(`the node has banned this address for too many calls, until ${until.toISOString()}`, {
      code: Code.PermissionDenied,
      advice: "Wait until then: calls before are not sent. If others share the address, set limits.callsPerSecond.",
      cause,
      section: "bannederror",
    });
    this.until = until;
  }

  override toJSON() {
    return { ...super.toJSON(), until: this.until.toISOString() };
  }
}
