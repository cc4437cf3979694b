export { ERROR_SECTIONS } from "../../src/errors/error-classes.js";
