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

function named(error: TradewireError, others: string): TradewireError | undefined {
  const { headline, code, advice, details, cause } = error;
  const options = { code, advice, details, cause, notes: [...error.notes, others] };
  if (error instanceof ConnectionError) {
    return new ConnectionError(headline, { ...options, connected: error.connected, isClosed: error.isClosed });
  }
  if (error instanceof ProtocolError) {
    const { isCutShort } = error;
    return new ProtocolError(headline, { ...options, isCutShort, section: "protocolerror-answer" });
  }
  if (error instanceof RequestError) {
    return new RequestError(headline, options);
  }
  if (error instanceof NodeError) {
    const { object, isRefusal, http } = error;
    return new NodeError(object, { cause, notes: options.notes, isRefusal, http });
  }
  return undefined;
}

function described({ name, error }: FailedMember): string {
  return `before that over ${name}: ${[error.headline, ...error.notes].join(", ").replace(/[()]/g, "")}`;
}
