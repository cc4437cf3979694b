/** The errors that {@link markOwnStatus} has marked. */
const own = new WeakSet<object>();

/**
 * Mark an error as a status of the node itself, with which it refused a call: gRPC's status without a message before it,
 * or over REST an error object with gRPC's code. Any other error of a call may come from something in front of the node,
 * or from after the node has done what the call asks for.
 *
 * @param error the error
 * @returns `error`
 */
export function markOwnStatus<E extends Error>(error: E): E {
  own.add(error);
  return error;
}

/**
 * Returns whether {@link markOwnStatus} has marked an error.
 *
 * @param reason the error that was thrown
 * @returns whether it is a status of the node itself
 */
export function isOwnStatus(reason: unknown): boolean {
  return typeof reason === "object" && reason !== null && own.has(reason);
}
