export { ERROR_SECTIONS } from "../../src/errors/sections.js";
