import type { DescMethod } from "@bufbuild/protobuf";
import { httpBindings } from "../../http-rule/http-rule.js";

/** Whether a method only reads, so that it may be called once more: its HTTP rule is a GET. */
export function onlyReads(method: DescMethod): boolean {
  return httpBindings(method)[0]?.verb === "GET";
}
