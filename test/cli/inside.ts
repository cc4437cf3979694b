export { parseTime } from "../../src/cli/parsers.js";
