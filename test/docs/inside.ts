export { ERROR_CODES } from "../../src/base/errors/error-codes.js";
export { errorTable } from "../../src/base/errors/error-reference.js";
