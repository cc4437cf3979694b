export { COMPRESSED, EMPTY } from "../../../src/errors/broken-answer.js";
export { CallError } from "../../../src/transport/call-failure.js";
