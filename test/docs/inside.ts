export { ERROR_CODES } from "../../src/base/errors/error-codes.js";
export { errorTable } from "../../site/reference/errors.js";
