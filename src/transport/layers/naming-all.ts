import { ConnectError } from "@connectrpc/connect";
import { ConnectionError, NodeError, ProtocolError, RequestError, type TradewireError } from "../../errors/index.js";

/** A transport over which a call failed. */
export interface FailedMember {
  readonly name: string;
  readonly error: TradewireError;
}

/**
 * Name in a call's last failure those over the transports that were tried before.
 *
 * @param reason the last failure, as its transport threw it
 * @param error the library's error for it
 * @param earlier the earlier failures; without any, `reason` passes unchanged
 * @returns the failure to throw
 */
export function namingAll(reason: unknown, error: TradewireError, earlier: readonly FailedMember[]): unknown {
  const cause = earlier.length === 0 ? undefined : named(error, earlier.map(described).join("; "));
  if (cause === undefined) {
    return reason;
  }
  Object.assign(cause, { transport: error.transport, method: error.method });
  const { rawMessage, metadata, details } = ConnectError.from(reason);
  const whole = new ConnectError(rawMessage, cause.code, metadata, undefined, cause);
  whole.details = details;
  return whole;
}

/** The URL in parentheses that ends the summary of an error. */
const URL_BEHIND = / \((https?:[^()]*)\)$/;

function named(error: TradewireError, others: string): TradewireError | undefined {
  const { code, advice, details, cause } = error;
  const url = URL_BEHIND.exec(error.summary);
  const summary = `${error.summary.slice(0, url?.index)} (${url === null ? "" : `${url[1]}; `}${others})`;
  if (error instanceof ConnectionError) {
    return new ConnectionError(summary, {
      code,
      advice,
      details,
      cause,
      connected: error.connected,
      isClosed: error.isClosed,
    });
  }
  if (error instanceof ProtocolError) {
    const { isCutShort } = error;
    return new ProtocolError(summary, { code, advice, details, cause, isCutShort, section: "protocolerror-answer" });
  }
  if (error instanceof RequestError) {
    return new RequestError(summary, { advice, cause });
  }
  return error instanceof NodeError ? new NodeError(error.object, cause, others, error.isRefusal) : undefined;
}

function described({ name, error }: FailedMember): string {
  return `before that over ${name}: ${error.summary.replace(URL_BEHIND, ", $1").replace(/[()]/g, "")}`;
}
