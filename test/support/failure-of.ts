import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";

/** How a call failed: gRPC's code by name, the message, and the node's details as `NUMBER MESSAGE (INNER)`. */
export interface CallFailure {
  readonly code: string | undefined;
  readonly message: string;
  readonly details: readonly string[];
}

/**
 * Wait for a call that fails.
 *
 * @throws Error if it does not fail
 */
export async function failureOf(call: Promise<unknown>): Promise<CallFailure> {
  try {
    await call;
  } catch (reason) {
    const error = ConnectError.from(reason);
    const details = error
      .findDetails(ErrorDetailSchema)
      .map(({ code, message, inner }) => `${code} ${message}${inner === "" ? "" : ` (${inner})`}`);
    return { code: Code[error.code], message: error.rawMessage, details };
  }
  throw new Error("the call did not fail");
}
