export { EMPTY_RESPONSE, UNEXPECTED_COMPRESSION } from "../../../../src/base/errors/call-errors.js";
export { CallError } from "../../../../src/wire/transport/call-failure.js";
