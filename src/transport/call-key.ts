import type { ContextKey } from "@connectrpc/connect";

/** Where a call's context values hold its number. This file loads nothing: other entries of the package need it, too. */
export const callKey: ContextKey<number | undefined> = { id: Symbol("the call's number"), defaultValue: undefined };
