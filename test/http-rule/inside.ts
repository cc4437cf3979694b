export { createFirstHttpCall, createHttpCall, parseHttpCall } from "../../src/http-rule/http-call.js";
export { type HttpBinding, type HttpCall, httpBindings } from "../../src/http-rule/http-rule.js";
export { knownTypes } from "../../src/json/any.js";
export { isJsonObject } from "../../src/json/json-values.js";
