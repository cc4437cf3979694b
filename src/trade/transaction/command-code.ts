import { lazily } from "../../base/input/lazy.js";

/**
 * Loads the definitions of all commands, and what checks, encodes and reads commands. It is called before anything is signed or sent,
 * so that nothing is left to load after that.
 */
export const loadCommandCode = lazily(() => import("./command-definitions.js"));
