import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { mainVerb } from "../http-rule/http-rule.js";

/**
 * Returns the full name of a method.
 *
 * @param method the method's descriptor
 * @returns the name, such as `datanode.api.v2.TradingDataService/ExportNetworkHistory`
 */
export function methodName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

/**
 * Returns whether a method is read-only, so that a failed call may be retried.
 *
 * The definitions must say so: the method's HTTP rule is a GET, or its `idempotency_level` is `NO_SIDE_EFFECTS`. The
 * network's read-only methods without an HTTP rule, or with another one, have that level. Nothing is derived from a name:
 * a method that says neither, such as one that submits or one that a fork has added, is never called a second time.
 *
 * @param method the method's descriptor
 * @returns whether the method's definition says that it changes nothing
 */
export function isReadOnly(method: DescMethod): boolean {
  return method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS || mainVerb(method) === "GET";
}

/**
 * Returns whether a method responds with exactly one message.
 *
 * @param method the method's descriptor
 * @returns `false` if its responses stream
 */
export function hasSingleResponse({ methodKind }: DescMethod): boolean {
  return methodKind === "unary" || methodKind === "client_streaming";
}
