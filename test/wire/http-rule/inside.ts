export { createFirstHttpCall, createHttpCall, parseHttpCall } from "../../../src/wire/http-rule/http-call.js";
export { type HttpBinding, type HttpCall, httpBindings } from "../../../src/wire/http-rule/http-rule.js";
export { knownTypes } from "../../../src/wire/json/any.js";
export { isJsonObject } from "../../../src/wire/json/json-values.js";
