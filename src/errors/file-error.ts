import { Code } from "@connectrpc/connect";
import { FileError } from "./errors.js";

/**
 * Make the error of a failed operation on a file or folder.
 *
 * @param reason the error that Node threw; its `code` decides what is said
 * @param path the path of the file or folder
 * @returns the error, caused by `reason`
 */
export function fileError(reason: unknown, path: string): FileError {
  const errno = reason instanceof Error && "code" in reason ? String(reason.code) : "";
  const [code, what, advice] = describe(errno);
  const said = what === "" ? (reason instanceof Error ? reason.message : String(reason)) : what;
  return new FileError(`${JSON.stringify(path)}: ${said}`, { code, advice, cause: reason });
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
