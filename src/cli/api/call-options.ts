import type { ClientOptions } from "../client-options.js";

/** The values of the options of `call`. The timeout is in milliseconds. */
export interface CallOptions extends ClientOptions {
  readonly data: readonly string[];
  readonly set: readonly string[];
  readonly header: readonly string[];
  readonly timeout?: number;
  readonly all?: boolean;
  readonly limit?: number;
  readonly out?: string;
  readonly force?: boolean;
  readonly proto?: string;
  readonly json?: boolean;
}
