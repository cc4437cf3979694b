export { saveWhole } from "../../src/file/save-whole.js";
export { processMark, temporaryName } from "../../src/file/temporary.js";
