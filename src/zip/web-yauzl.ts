// In the place of yauzl in browsers (`#yauzl` in package.json): yauzl needs modules of Node, so archives are not read there.
import { unreadable } from "./zip-format.js";

function refuse(): never {
  throw unreadable();
}

export const fromRandomAccessReaderPromise = refuse;
export const getFileNameLowLevel = refuse;
export const parseExtraFields = refuse;
export const validateFileName = refuse;

/** The base class of archive readers. */
export class RandomAccessReader {
  constructor() {
    refuse();
  }
}
