import { Code } from "@connectrpc/connect";
import { TradewireError } from "./tradewire-error.js";

/** The node has banned this address for a time, because calls went on after it had refused some as too many. */
export class BannedError extends TradewireError {
  /** The end of the ban, by this machine's clock. */
  readonly until: Date;
  /**
   * Whether it is certain that the node did not take the call: it was not sent, or the node itself answered it. Else
   * something in front of the node may have answered.
   */
  readonly isRefusal: boolean;

  /**
   * @param until the end of the ban
   * @param cause the answer with the ban
   * @param isRefusal whether it is certain that the node did not take the call
   */
  constructor(until: Date, cause?: unknown, isRefusal = true) {
    super(`the node has banned this address for too many calls, until ${until.toISOString()}`, {
      code: Code.PermissionDenied,
      advice: "Wait until then: calls before are not sent. If others share the address, set limits.callsPerSecond.",
      cause,
      section: "bannederror",
    });
    this.until = until;
    this.isRefusal = isRefusal;
  }

  override toJSON() {
    return { ...super.toJSON(), until: this.until.toISOString() };
  }
}
