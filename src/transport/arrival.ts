import { type ContextValues, createContextKey } from "@connectrpc/connect";

const key = createContextKey<() => void>(() => undefined, { description: "told when bytes of the call arrive" });

/**
 * Have a function called whenever bytes of a call arrive, whether or not they make a message whole.
 *
 * @param contextValues the call's context values, which the transport reads
 * @param arrived the function
 */
export function onArrival(contextValues: ContextValues, arrived: () => void): void {
  contextValues.set(key, arrived);
}

/**
 * Find the function that is told of a call's bytes.
 *
 * @param contextValues the call's context values
 * @returns the function; one that does nothing where nobody wants to know
 */
export function arrivalOf(contextValues: ContextValues): () => void {
  return contextValues.get(key);
}
