import type { TradewireError } from "../../base/errors/index.js";

/**
 * The result of a check. A `failure` keeps commands from working; with a `warning` they work, but only for now or not fully.
 */
export interface Finding {
  /** The subject of the check, such as `TLS https://node.example`. */
  readonly check: string;
  readonly state: "ok" | "warning" | "failure";
  readonly finding: string;
  /** What to do. */
  readonly advice?: string | undefined;
}

export function failedCheck(check: string, { summary, advice }: TradewireError): Finding {
  return { check, state: "failure", finding: summary, ...(advice !== "" && { advice }) };
}
