export { saveAtomically } from "../../src/file/atomic-file.js";
export { processMark, temporaryName } from "../../src/file/temporary-files.js";
