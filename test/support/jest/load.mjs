// Loaded before Jest, and in each of its workers: Node then takes TypeScript, and test files get the globals of Jest.
import { register as registerHooks } from "node:module";
import { register as registerTypeScript } from "tsx/esm/api";

registerTypeScript({ tsconfig: false });
registerHooks("./resolve.mjs", import.meta.url);
if (process.send !== undefined) {
  // A worker that has done its work ends at once: Jest takes one that frees all of its memory first for one that hangs.
  process.once("exit", (code) => process.reallyExit(code));
}
