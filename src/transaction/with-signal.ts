/**
 * Make the options of a call. Connect does not accept `undefined` as a signal.
 *
 * @param signal ends the call
 * @returns the options, empty where there is no signal
 */
export function withSignal(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
