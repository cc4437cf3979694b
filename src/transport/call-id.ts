import type { ContextValues } from "@connectrpc/connect";
import { callKey } from "./call-key.js";

/** The number of calls that this process has made, which gives each call its own. */
let calls = 0;

/**
 * Give a call a number that no other call of the process has.
 *
 * @param contextValues the call's context values, which carry the number to the layers below
 * @returns the number
 */
export function newCallId(contextValues: ContextValues): number {
  calls += 1;
  contextValues.set(callKey, calls);
  return calls;
}

/**
 * Find the number of a call.
 *
 * @param contextValues the call's context values
 * @returns the number; a new one where nothing has given the call one
 */
export function callId(contextValues: ContextValues): number {
  return contextValues.get(callKey) ?? newCallId(contextValues);
}
