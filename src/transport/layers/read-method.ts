import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { mainVerb } from "../../http-rule/http-rule.js";

/**
 * Whether a method only reads, so that a failed call may be made again.
 *
 * The definitions have to say so, in one of two ways: the method's HTTP rule is a GET, or its `idempotency_level` is
 * `NO_SIDE_EFFECTS`, which those of the network's methods have that only read and have no rule or another one. Nothing
 * is guessed from a name. A method that says neither, such as one that submits or one that a fork has added, is never
 * called a second time.
 *
 * @param method the method's descriptor
 * @returns true where the method's definition says that it changes nothing
 */
export function onlyReads(method: DescMethod): boolean {
  return method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS || mainVerb(method) === "GET";
}
