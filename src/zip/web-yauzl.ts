// In the place of yauzl in browsers (`#yauzl` in package.json): its functions, which the build joins with what they need of Node.
export {
  fromRandomAccessReaderPromise,
  getFileNameLowLevel,
  parseExtraFields,
  RandomAccessReader,
  validateFileName,
} from "yauzl";
