export { saveAtomically } from "../../../src/base/file/atomic-file.js";
export { temporaryName, threadMark } from "../../../src/base/file/temporary-files.js";
