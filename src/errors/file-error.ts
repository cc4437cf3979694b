import { Code } from "@connectrpc/connect";
import { FileError } from "./errors.js";
import { isError } from "./is-error.js";

/**
 * Runs of hex digits like those of a seed, also of one that was mistyped by a few. The ids in a file's name, such as the
 * public key in that of a ledger, stand behind a `_`; they are no secret, and the path would not be found without them.
 */
const SEED = /(?<![0-9a-f_])(0x)?[0-9a-f]{60,}/gi;

/**
 * Quote a path for an error. What looks like a seed is masked, for a seed may be given where a path belongs.
 *
 * @param path the path
 * @returns the path as JSON, with `***` for a seed
 */
export function quotedPath(path: string): string {
  return JSON.stringify(path.replace(SEED, "***"));
}

/** Advice by the code of Node's error, such as `ENOENT`, where the usual one does not fit. */
export type FileAdvice = Readonly<Record<string, string>>;

/** Advice for who only reads. */
export const readingAdvice: FileAdvice = {
  ENOENT: "Check the path: there is nothing to read.",
  EISDIR: "Give the path of a file.",
  EACCES: "Check the permissions of the file and of the folders above it.",
};

/**
 * Make the error of a failed operation on a file or folder.
 *
 * @param reason the error that Node threw; its `code` decides what is said
 * @param path the path of the file or folder
 * @param advised advice that takes the place of the usual one, which is for writing
 * @returns the error, caused by `reason` unless that shows what looks like a seed
 */
export function fileError(reason: unknown, path: string, advised: FileAdvice = {}): FileError {
  const errno = isError(reason) && "code" in reason ? String(reason.code) : "";
  const [code, what, advice] = describe(errno);
  const message = isError(reason) ? reason.message : String(reason);
  const said = what === "" ? message.replace(SEED, "***") : what;
  return new FileError(`${quotedPath(path)}: ${said}`, {
    code,
    advice: advised[errno] ?? advice,
    cause: path.search(SEED) === -1 ? reason : undefined,
  });
}

function describe(errno: string): [Code, string, string] {
  switch (errno) {
    case "EEXIST":
      return [Code.AlreadyExists, "it exists already", "Choose another name, or allow it to be replaced (force)."];
    case "ENOENT":
      return [Code.NotFound, "it does not exist", "Make the folder first, or choose another path."];
    case "ENOTDIR":
      return [Code.NotFound, "a part of the path is no folder", "Choose another path."];
    case "EISDIR":
      return [Code.AlreadyExists, "it is a folder", "Choose the path of a file, or a folder to put the file in."];
    case "EACCES":
    case "EPERM":
      return [
        Code.PermissionDenied,
        "it must not be read or written",
        "Check the permissions, or choose another folder.",
      ];
    case "EROFS":
      return [Code.PermissionDenied, "the disk is read-only", "Choose a folder on another disk."];
    case "ENOSPC":
    case "EDQUOT":
      return [Code.ResourceExhausted, "the disk is full", "Free some space, or choose a folder on another disk."];
    case "EFBIG":
      return [Code.ResourceExhausted, "the file is larger than the system allows", "Raise the limit, or export less."];
    default:
      return [Code.Unknown, "", "Check the path, the disk and the permissions."];
  }
}

/**
 * Tell whether an operation on files failed with a code of Node's.
 *
 * @param reason what it failed with
 * @param code such as `ENOENT`
 * @returns whether it has that code
 */
export function failedWith(reason: unknown, code: string): boolean {
  return isError(reason) && "code" in reason && reason.code === code;
}
