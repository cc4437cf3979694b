import { Code } from "../base/errors/code.js";
import { FileError, RequestError } from "../base/errors/index.js";
import { lazily } from "../base/input/lazy.js";

/**
 * Returns a function that loads an optional peer.
 *
 * @throws {@link RequestError} from that function, if the package is not installed
 */
export function optionalPackage<T>(
  load: () => Promise<T>,
  use: string,
  name: string,
  install = name,
): () => Promise<T> {
  const loaded = lazily(load);
  return () =>
    loaded().catch((reason: unknown): never => {
      const isFull = reason instanceof FileError && reason.code === Code.ResourceExhausted;
      throw isFull ? reason : missingPackage(use, name, install, reason instanceof FileError ? reason.cause : reason);
    });
}

function missingPackage(use: string, name: string, install: string, cause: unknown): RequestError {
  return new RequestError(`${use} needs ${name}, which is not installed`, {
    advice: `Run: npm install ${install}`,
    cause,
    errorCode: "TW_MISSING_PACKAGE",
  });
}
