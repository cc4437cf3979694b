import { type ContextValues, createContextKey } from "@connectrpc/connect";
import type { SentTo } from "./hooks.js";

const key = createContextKey<SentTo | undefined>(undefined, { description: "where the call was sent" });

/**
 * Note where a call is sent.
 *
 * @param contextValues the call's context values, which carry it to the layers above
 * @param endpoint the transport's name and the URL
 */
export function noteSentTo(contextValues: ContextValues, endpoint: SentTo): void {
  contextValues.set(key, endpoint);
}

/**
 * Find where a call was sent.
 *
 * @param contextValues the call's context values
 * @returns the endpoint that was noted last, if any
 */
export function sentTo(contextValues: ContextValues): SentTo | undefined {
  return contextValues.get(key);
}
