import type { DescMethod } from "@bufbuild/protobuf";
import { mainVerb } from "../../http-rule/http-rule.js";

/**
 * Whether a method only reads, so that a failed call may be made again.
 *
 * @param method the method's descriptor
 * @returns true where the method's HTTP rule is a GET
 */
export function onlyReads(method: DescMethod): boolean {
  return mainVerb(method) === "GET";
}
