import { type Extension, readTarget } from "../file/target.js";

/**
 * Read where a command is to save a file.
 *
 * @param path what `--out` says
 * @param extension that of such files
 * @returns the path, which ends in a slash where it is of a folder that may not exist yet
 * @throws {@link RequestError} where it is neither a folder nor the name of such a file
 */
export function outTarget(path: string, extension: Extension): Promise<string> {
  return readTarget(path, extension, () => ".");
}
