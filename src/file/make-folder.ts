import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { fileError } from "../errors/file-error.js";
import { isError } from "../errors/is-error.js";

/**
 * Make a folder, and those above it that do not exist. One that exists is left as it is.
 *
 * Node's own way, `recursive`, never ends where the system says of a new folder that there is no such thing though the
 * folder above it exists, as in `/proc`.
 *
 * @param path the folder's path
 * @throws {@link FileError} where it cannot be made, or is no folder
 */
export function makeFolder(path: string): void {
  try {
    make(path);
  } catch (reason) {
    throw fileError(reason, path, {
      EEXIST: "Give a folder: this is a file.",
      ENOENT: "Choose a folder elsewhere: none can be made there.",
    });
  }
}

function make(path: string, isAboveThere = false): void {
  try {
    mkdirSync(path);
  } catch (reason) {
    const code = isError(reason) && "code" in reason ? reason.code : undefined;
    if (code === "EEXIST" && statSync(path).isDirectory()) {
      return;
    }
    const above = dirname(path);
    if (code !== "ENOENT" || isAboveThere || above === path) {
      throw reason;
    }
    make(above);
    make(path, true);
  }
}
