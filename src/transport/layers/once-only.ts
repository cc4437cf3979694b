import { type ContextValues, createContextKey } from "@connectrpc/connect";

const key = createContextKey(false, { description: "whether the call is made once only" });

/**
 * Have a call made once only, also where it reads: where the connection is lost after it was made, it fails. A stream
 * that observes would otherwise lose what happened meanwhile, and nobody would know.
 *
 * @param contextValues the call's context values
 * @returns the same context values
 */
export function onceOnly(contextValues: ContextValues): ContextValues {
  return contextValues.set(key, true);
}

/**
 * Tell whether a call is made once only.
 *
 * @param contextValues the call's context values
 * @returns whether it is
 */
export function isOnceOnly(contextValues: ContextValues): boolean {
  return contextValues.get(key);
}
