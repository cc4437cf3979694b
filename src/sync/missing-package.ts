import { RequestError } from "../errors/index.js";

/**
 * Returns the error of an optional peer that cannot be loaded.
 *
 * @param use what needs the package
 * @param name the package
 * @param install what `npm install` has to install
 * @param cause the error of the import
 * @returns the error
 */
export function missingPackage(use: string, name: string, install: string, cause: unknown): RequestError {
  return new RequestError(`${use} needs ${name}, which is not installed`, {
    advice: `Run: npm install ${install}`,
    cause,
    errorCode: "TW_MISSING_PACKAGE",
  });
}
