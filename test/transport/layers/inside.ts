export { EMPTY_RESPONSE, UNEXPECTED_COMPRESSION } from "../../../src/errors/call-errors.js";
export { CallError } from "../../../src/transport/call-failure.js";
