import { isError } from "./node-errors.js";

/** The number of frames that are recorded: those of the library are between the caller and the call. Each takes 0.6 µs. */
const FRAMES = 20;

/** The maximum number of lines of a stack to which callers are added: several of them may get the same error. */
const MAX_LINES = 80;

/**
 * Records the stack of a call, which an error created later, when a response arrives, does not contain. It is cheap: the text of
 * the stack is only made when it is needed.
 */
export function recordCaller(): Error {
  const limit = Error.stackTraceLimit;
  const isChanged = Reflect.set(Error, "stackTraceLimit", FRAMES); // Programs may have frozen it (SES, --frozen-intrinsics).
  try {
    return new Error();
  } finally {
    isChanged && Reflect.set(Error, "stackTraceLimit", limit);
  }
}

export function addCaller<R>(reason: R, caller: Error): R {
  // A program may have its own `Error.prepareStackTrace`, and make something else of a stack than text.
  if (isError(reason) && typeof reason.stack === "string" && typeof caller.stack === "string") {
    const lines = reason.stack.split("\n");
    const further = caller.stack.split("\n").slice(1);
    if (lines.length < MAX_LINES) {
      // Errors of others may be frozen.
      Reflect.set(reason, "stack", [...lines, ...further.filter((line) => !lines.includes(line))].join("\n"));
    }
  }
  return reason;
}

/**
 * Makes a call whose errors may come from elsewhere, such as from events that were already being read.
 *
 * @throws what the call throws, with the caller's lines in its stack
 */
export async function withCaller<R>(call: () => Promise<R>): Promise<R> {
  const caller = recordCaller();
  try {
    return await call();
  } catch (reason) {
    throw addCaller(reason, caller);
  }
}
