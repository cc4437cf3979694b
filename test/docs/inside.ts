export { errorTable } from "../../site/reference/errors.js";
export { ERROR_CODES } from "../../src/base/errors/error-codes.js";
