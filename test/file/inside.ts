export { saveAtomically } from "../../src/file/atomic-file.js";
export { temporaryName, threadMark } from "../../src/file/temporary-files.js";
