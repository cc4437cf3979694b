import { RequestError } from "../errors/error-classes.js";
import { nodeProcess } from "../runtime/node-process.js";

/**
 * Returns the process, for what only Node can do. Its `getBuiltinModule` replaces imports that bundlers for
 * browsers would refuse.
 *
 * @param what the feature that needs Node, such as `file access`
 * @returns the process
 * @throws {@link RequestError} in browsers
 */
export function requireNode(what: string): NodeJS.Process {
  if (nodeProcess === undefined) {
    throw new RequestError(`${what} is not available in a browser`, {
      advice: "Use Node, Bun or Deno. In a browser, pass bytes or a stream of bytes instead.",
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
  return requireNode("file access").getBuiltinModule("node:fs");
}

/**
 * Returns Node's functions for paths.
 *
 * @returns the module `node:path`
 * @throws {@link RequestError} in browsers
 */
export function nodePaths(): typeof import("node:path") {
  return requireNode("file access").getBuiltinModule("node:path");
}
