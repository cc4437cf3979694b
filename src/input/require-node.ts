import { RequestError } from "../errors/error-classes.js";
import { nodeProcess } from "../runtime/node-process.js";

/**
 * Returns the process, for what only Node can do. Its `getBuiltinModule` takes the place of imports that bundlers for
 * browsers would refuse.
 *
 * @param what what needs Node, such as `a file`
 * @returns the process
 * @throws {@link RequestError} in browsers
 */
export function requireNode(what: string): NodeJS.Process {
  if (nodeProcess === undefined) {
    throw new RequestError(`${what} cannot be used here`, {
      advice: "This needs Node, Bun or Deno. In a browser, give bytes, or a stream of bytes, and get bytes.",
    });
  }
  return nodeProcess;
}

/**
 * Returns Node's functions for files and folders.
 *
 * @returns the module `node:fs`, whose `promises` are those of `node:fs/promises`
 * @throws {@link RequestError} in browsers
 */
export function nodeFiles(): typeof import("node:fs") {
  return requireNode("a file").getBuiltinModule("node:fs");
}

/**
 * Returns Node's functions for paths.
 *
 * @returns the module `node:path`
 * @throws {@link RequestError} in browsers
 */
export function nodePaths(): typeof import("node:path") {
  return requireNode("a file").getBuiltinModule("node:path");
}
