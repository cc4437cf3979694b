export { type HttpBinding, type HttpCall, httpBindings } from "../../src/http-rule/http-rule.js";
export { readCall } from "../../src/http-rule/read-call.js";
export { writeCall, writeFirstCall } from "../../src/http-rule/write-call.js";
export { knownTypes } from "../../src/json/any.js";
export { isJsonObject } from "../../src/json/values.js";
