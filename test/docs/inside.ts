export { ERROR_CODES } from "../../src/errors/error-codes.js";
export { errorTable } from "../../src/errors/error-reference.js";
