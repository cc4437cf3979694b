import fs from "node:fs";
import { describeType } from "../errors/error-text.js";
import { RequestError } from "../errors/index.js";
import { quotedPath } from "../errors/node-errors.js";
import { assertKnownKeys } from "../input/assert.js";

/**
 * Where something is saved. A string is the path of a file if it ends in the extension of such files, and the path of a
 * folder if it ends in a slash or such a folder exists; any other string is rejected. The objects accept any name.
 */
export type SaveTarget = string | { readonly folder: string } | { readonly file: string };

/** Extensions of saved files. */
export type Extension = ".zip" | ".csv" | ".parquet";

/**
 * Resolves a target to the path of a file or a folder.
 *
 * @throws {@link RequestError} if it is neither, or a folder has the file's name
 */
export async function readTarget(
  target: SaveTarget,
  extension: Extension,
  orElse: (path: string) => string = (path) =>
    `. To be explicit, use { folder: ${quotedPath(path)} } or { file: ${quotedPath(path)} }.`,
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
    throw new RequestError(`the target must be a folder or a file (got ${describeType(target)})`, {
      advice: `Use { folder: "archives" }, { file: "archive${extension}" }, or a string such as "archives/".`,
    });
  }
  if ("folder" in target) {
    assertKnownKeys("the target", target, { folder: true });
    const folder = pathIn("folder", target.folder);
    return endsInSlash(folder) ? folder : `${folder}/`;
  }
  assertKnownKeys("the target", target, { file: true });
  return fileAt(pathIn("file", target.file));
}

function endsInSlash(path: string): boolean {
  return /[/\\]$/.test(path);
}

function isFolder(path: string): Promise<boolean> {
  return fs.promises.stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function fileAt(path: string): Promise<string> {
  if (endsInSlash(path) || (await isFolder(path))) {
    throw new RequestError(`${quotedPath(path)} is a folder, not a file`, {
      advice: `Use the path of a file, or { folder: ${quotedPath(path)} }.`,
    });
  }
  return path;
}

function pathIn(name: string, path: unknown): string {
  if (typeof path !== "string" || path === "") {
    throw new RequestError(`must be a non-empty path (got ${path === "" ? '""' : describeType(path)})`, {
      option: name,
    });
  }
  return path;
}

function neither(path: string, extension: Extension, orElse: (path: string) => string): RequestError {
  if (path === "") {
    return new RequestError("the target must not be empty", {
      advice: `Use the path of a folder, such as "archives/", or of a file, such as "archive${extension}".`,
    });
  }
  const file = quotedPath(`${path}${extension}`);
  return new RequestError(`${quotedPath(path)} is not an existing folder, and does not end in ${extension}`, {
    advice: `Use ${quotedPath(`${path}/`)} for a folder, or ${file} for a file${orElse(path)}`,
  });
}
