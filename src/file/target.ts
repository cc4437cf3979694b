import { stat } from "node:fs/promises";
import { requireKnown } from "../errors/check-values.js";
import { quotedPath } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";
import { typeName } from "../errors/type-name.js";

/**
 * Where something is saved. A text is the path of a file where it ends in the extension of such files, and that of a folder
 * where it ends in a slash or there is such a folder; any other text is refused. The objects take any name.
 */
export type SaveTarget = string | { readonly folder: string } | { readonly file: string };

/** The extensions of files that are saved. */
export type Extension = ".zip" | ".csv";

/**
 * Find out whether a file or a folder is meant.
 *
 * @param target where something is saved
 * @param extension that of a file
 * @param orElse what more the advice says where a text says neither
 * @returns the path, which ends in a slash where it is of a folder that may not exist yet
 * @throws {@link RequestError} where it is neither, or a folder has the name that the file should get
 */
export async function readTarget(
  target: SaveTarget,
  extension: Extension,
  orElse: (path: string) => string = (path) =>
    `; { folder: ${quotedPath(path)} } and { file: ${quotedPath(path)} } say which it is, whatever the name.`,
): Promise<string> {
  if (typeof target === "string") {
    if (endsInSlash(target)) {
      return target;
    }
    if (target.toLowerCase().endsWith(extension)) {
      return fileAt(target);
    }
    if (await isFolder(target)) {
      return target;
    }
    throw neither(target, extension, orElse);
  }
  if (typeof target !== "object" || target === null || "folder" in target === "file" in target) {
    throw new RequestError(`the target is ${typeName(target)}, which says neither a folder nor a file`, {
      advice: `Give { folder: "archives" }, { file: "archive${extension}" }, or a text such as "archives/".`,
    });
  }
  if ("folder" in target) {
    requireKnown("the target", target, { folder: true });
    const folder = pathIn("folder", target.folder);
    return endsInSlash(folder) ? folder : `${folder}/`;
  }
  requireKnown("the target", target, { file: true });
  return fileAt(pathIn("file", target.file));
}

function endsInSlash(path: string): boolean {
  return /[/\\]$/.test(path);
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function fileAt(path: string): Promise<string> {
  if (endsInSlash(path) || (await isFolder(path))) {
    throw new RequestError(`${quotedPath(path)} is a folder, and a file is to be saved there`, {
      advice: `Give the path of a file, or { folder: ${quotedPath(path)} }.`,
    });
  }
  return path;
}

function pathIn(name: string, path: unknown): string {
  if (typeof path !== "string" || path === "") {
    throw new RequestError(`${name} is ${path === "" ? "empty" : typeName(path)}`, { advice: "Give a path." });
  }
  return path;
}

function neither(path: string, extension: Extension, orElse: (path: string) => string): RequestError {
  if (path === "") {
    return new RequestError("the target is an empty text", {
      advice: `Give the path of a folder, such as "archives/", or of a file, such as "archive${extension}".`,
    });
  }
  const file = quotedPath(`${path}${extension}`);
  return new RequestError(`${quotedPath(path)} is no folder that exists, and does not end in ${extension}`, {
    advice: `Give ${quotedPath(`${path}/`)} for a folder, or ${file} for a file${orElse(path)}`,
  });
}
