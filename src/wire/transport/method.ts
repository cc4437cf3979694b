import type { DescMethod, DescMethodUnary } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { ContextValues } from "@connectrpc/connect";
import { isSubmitting } from "../config/submitting-methods.js";
import { mainVerb } from "../http-rule/http-rule.js";
import { repeatabilityKey } from "./call-context.js";

export function methodName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

/**
 * Returns whether a call may be repeated after it was sent: its method is read-only or idempotent by its definition
 * (`idempotency_level`), or the caller or the configuration says so.
 */
export function isRepeatable(method: DescMethod, contextValues: ContextValues): boolean {
  const repeatability = contextValues.get(repeatabilityKey);
  if (repeatability === "disabled" || isSubmitting(methodName(method))) {
    return false;
  }
  const isIdempotent = method.idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT;
  return repeatability === "declared" || isIdempotent || isReadOnly(method);
}

/** Returns whether a method streams its requests, which cannot be sent a second time. */
export function streamsRequests({ methodKind }: DescMethod): boolean {
  return methodKind === "client_streaming" || methodKind === "bidi_streaming";
}

/**
 * Returns whether a method is read-only.
 *
 * The definitions must say so: the method's HTTP rule is a GET, or its `idempotency_level` is `NO_SIDE_EFFECTS`. The network's
 * read-only methods without an HTTP rule, or with another one, have that level. Nothing is derived from a name: a method that
 * says neither, such as one that submits, or one that a fork has added, is never retried.
 */
export function isReadOnly(method: DescMethod): boolean {
  return method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS || mainVerb(method) === "GET";
}

export function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

export function hasSingleResponse({ methodKind }: DescMethod): boolean {
  return methodKind === "unary" || methodKind === "client_streaming";
}
