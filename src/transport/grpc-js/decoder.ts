/** A gRPC frame that has not begun, in grpc-js's decoder. */
const NO_DATA = 0;

/** How deep a call's decoder may be: a call resolves, is retried, is balanced and is made. */
const MOST_CALLS = 8;

/**
 * Say whether the bytes of a call have ended inside a message. grpc-js takes that for the end of the stream and keeps its
 * decoder to itself, so this looks for it.
 *
 * @param call the call, as the channel created it
 * @returns whether a message has begun that did not end; false where grpc-js is built in another way than is known here
 */
export function endedInsideMessage(call: unknown): boolean {
  let inner = call;
  for (let depth = 0; depth < MOST_CALLS; depth += 1) {
    const readState = property(property(inner, "decoder"), "readState");
    if (typeof readState === "number") {
      return readState !== NO_DATA;
    }
    const tries = property(inner, "underlyingCalls");
    inner = Array.isArray(tries) ? property(tries.at(-1), "call") : property(inner, "child");
  }
  return false;
}

function property(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;
}
