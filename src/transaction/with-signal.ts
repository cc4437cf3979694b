/** The options of a call that the signal ends, where there is one: Connect takes no `undefined` for it. */
export function withSignal(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
