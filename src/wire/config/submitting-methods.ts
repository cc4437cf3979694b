/** The methods that submit something to the network. */
const SUBMITTING: ReadonlySet<string> = new Set([
  "vega.api.v1.CoreService/SubmitTransaction",
  "vega.api.v1.CoreService/SubmitRawTransaction",
  "vega.api.v1.CoreService/PropagateChainEvent",
]);

/**
 * Returns whether a method submits something to the network. Such a call is never repeated after it was sent,
 * regardless of definitions, configuration and options.
 */
export function isSubmitting(name: string): boolean {
  return SUBMITTING.has(name);
}
