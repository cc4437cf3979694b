import { types } from "node:util";
import { Code } from "./code.js";
import { FileError } from "./error-classes.js";
import type { ErrorText } from "./error-text.js";

/**
 * Returns whether a value is an error, including one from another realm: in Jest's environments and in contexts of `node:vm`,
 * errors that Node throws are not instances of the local `Error`.
 */
export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value) || value instanceof DOMException;
}

export function errorCodes(reason: unknown): string[] {
  return causesOf(reason).flatMap((error) => ("code" in error && typeof error.code === "string" ? [error.code] : []));
}
export function causesOf(reason: unknown): Error[] {
  const errors: Error[] = [];
  for (let cause = reason; isError(cause) && errors.length < 8; cause = cause.cause) {
    errors.push(cause);
  }
  return errors;
}

/**
 * What looks like a secret: the words of a mnemonic, or the hex digits of a seed. A few digits may be missing. IDs in file
 * names, such as the public key in the name of a ledger, follow a `_`. They are not secret, and the user needs them to find the
 * file.
 */
const SECRET = /(?<![0-9a-f_])(0x)?[0-9a-f]{60,}|(?<![a-z])[a-z]{3,8}(\s+[a-z]{3,8}){11,}(?![a-z])/gi;

/** Text of 12 or more words. In a path, it may be a mnemonic, even one that is numbered or mistyped. */
const WORDS = /(?<!\S)\S+(\s+\S+){11,}/g;

const masked = (path: string) => path.replace(WORDS, "***").replace(SECRET, "***");

/**
 * Quotes a path for a sentence of an error. Masks what looks like a seed or a mnemonic, because a user may pass one instead of a
 * path.
 */
export function quotedPath(path: string): string {
  return JSON.stringify(masked(path));
}

/**
 * Formats a path for the start of an error, as in `history.zip: file not found`. Masks secrets like {@link quotedPath}.
 */
export function shownPath(path: string): string {
  return /^[^\s"'`\p{C}]+$/u.test(path) ? masked(path) : quotedPath(path);
}

/** Advice by the code of Node's error, such as `ENOENT`, that replaces the default advice. */
export type FileAdvice = Readonly<Record<string, string>>;

/** Advice for files that are only read. */
export const READ_ADVICE: FileAdvice = {
  ENOENT: "Check the path.",
  EISDIR: "Enter the path of a file.",
  EACCES: "Check the permissions of the file and of its parent folders.",
};

export function fileError(reason: unknown, path: string, adviceByCode: FileAdvice = {}): FileError {
  const isSecret = masked(path) !== path;
  const { errno, code, said, advice } = failureOf(reason, isSecret);
  const problem = errno === "ENOENT" && adviceByCode === READ_ADVICE ? "file not found" : said;
  return new FileError(`${shownPath(path)}: ${problem}`, {
    code,
    advice: adviceByCode[errno] ?? advice,
    cause: isSecret ? undefined : reason,
  });
}

/** Returns the error of a failed operation on a stream that has no path, such as standard output. */
export function streamError(reason: unknown, name: string, advice: string): FileError {
  const { code, said } = failureOf(reason);
  return new FileError(`${name}: ${said}`, { code, advice, cause: reason });
}

/** Node's own message contains the path, so it is not shown for a path that looks like a secret. */
function failureOf(reason: unknown, isSecret = false) {
  const errno = isError(reason) && "code" in reason ? String(reason.code) : "";
  const [code, what, advice] = describe(errno);
  const message = isError(reason) ? reason.message : String(reason);
  const shown = isSecret ? `the system refused the path${errno && ` (${errno})`}` : message.replace(SECRET, "***");
  return { errno, code, said: what === "" ? shown : what, advice };
}

function describe(errno: string): [Code, string, ErrorText] {
  switch (errno) {
    case "EEXIST":
      return [
        Code.AlreadyExists,
        "file already exists",
        (nameOf) => `Choose another name, or use ${nameOf("force")} to overwrite the file.`,
      ];
    case "ENOENT":
      return [Code.NotFound, "no such file or directory", "Create the folder first, or choose another path."];
    case "ENOTDIR":
      return [Code.NotFound, "a part of the path is not a folder", "Choose another path."];
    case "EISDIR":
      return [
        Code.AlreadyExists,
        "is a folder",
        "Choose the path of a file. To save into the folder, end its path with /.",
      ];
    case "EACCES":
    case "EPERM":
      return [Code.PermissionDenied, "permission denied", "Check the permissions, or choose another folder."];
    case "EROFS":
      return [Code.PermissionDenied, "the disk is read-only", "Choose a folder on another disk."];
    case "ENOSPC":
    case "EDQUOT":
      return [Code.ResourceExhausted, "the disk is full", "Free some space, or choose a folder on another disk."];
    case "EPIPE":
    case "ECONNRESET":
      return [Code.Unavailable, "the reader has gone", "Check the program that reads it."];
    case "EFBIG":
      return [Code.ResourceExhausted, "the file exceeds the system's size limit", "Raise the limit, or export less."];
    default:
      return [Code.Unknown, "", "Check the path, the disk and the permissions."];
  }
}

export function hasErrorCode(reason: unknown, code: string): boolean {
  return isError(reason) && "code" in reason && reason.code === code;
}
