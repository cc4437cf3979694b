import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";

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
  const readState = property(innermost(call, "decoder"), "readState");
  return typeof readState === "number" && readState !== NO_DATA;
}

/**
 * Find the HTTP/2 session that carries a call.
 *
 * @param call the call, as the channel created it
 * @returns the session; undefined where the call has none yet, or grpc-js is built in another way than is known here
 */
export function sessionOf(call: unknown): ClientHttp2Session | undefined {
  const session = property(innermost(call, "http2Stream"), "session");
  return isSession(session) ? session : undefined;
}

/**
 * Find the HTTP/2 stream that carries a call.
 *
 * @param call the call, as the channel created it
 * @returns the stream; undefined as for {@link sessionOf}
 */
export function streamOf(call: unknown): ClientHttp2Stream | undefined {
  const stream = innermost(call, "http2Stream");
  return isStream(stream) ? stream : undefined;
}

function isStream(value: unknown): value is ClientHttp2Stream {
  return typeof property(value, "on") === "function" && isSession(property(value, "session"));
}

function isSession(value: unknown): value is ClientHttp2Session {
  return typeof property(value, "ping") === "function" && typeof property(value, "destroy") === "function";
}

/** Find a property of the call that others are wrapped around. */
function innermost(call: unknown, name: string): unknown {
  let inner = call;
  for (let depth = 0; depth < MOST_CALLS; depth += 1) {
    const found = property(inner, name);
    if (found !== undefined) {
      return found;
    }
    const tries = property(inner, "underlyingCalls");
    inner = Array.isArray(tries) ? property(tries.at(-1), "call") : property(inner, "child");
  }
  return undefined;
}

function property(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;
}
