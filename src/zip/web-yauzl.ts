// In the place of yauzl in browsers (`#yauzl` in package.json): yauzl needs modules of Node, so archives are not read there.
import { RequestError } from "../errors/error-classes.js";

function refuse(): never {
  throw new RequestError("archives cannot be read here", {
    advice:
      "This needs Node, Bun or Deno. In a browser, read the archive with jszip, and its CSV files with tradewire/csv.",
  });
}

export const fromRandomAccessReaderPromise = refuse;
export const getFileNameLowLevel = refuse;
export const parseExtraFields = refuse;
export const validateFileName = refuse;

/** What readers of archives extend. */
export class RandomAccessReader {
  constructor() {
    refuse();
  }
}
