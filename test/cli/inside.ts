export { parseTime } from "../../src/cli/parsers.js";
export { createProgress, textTerminal } from "../../src/cli/progress.js";
