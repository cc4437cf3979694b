/**
 * The process, where the program runs in Node; undefined in browsers. Its `getBuiltinModule` replaces imports that
 * bundlers for browsers would refuse.
 */
export const nodeProcess: NodeJS.Process | undefined =
  typeof process === "object" && typeof process.getBuiltinModule === "function" ? process : undefined;
