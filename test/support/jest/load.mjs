// Loaded before Jest, and in each of its workers: Node then takes TypeScript, and test files get the globals of Jest.
import http2 from "node:http2";
import { register as registerHooks, syncBuiltinESMExports } from "node:module";
import { register as registerTypeScript } from "tsx/esm/api";

registerTypeScript({ tsconfig: false });
registerHooks("./resolve.mjs", import.meta.url);
if (process.send !== undefined) {
  // A worker that has done its work ends at once: Jest takes one that frees all of its memory first for one that hangs.
  process.once("exit", (code) => process.reallyExit(code));
}

// Servers of tests are disposed of by what their input settles.
const { destroyAfterInput } = await import("../../../src/base/runtime/http2-session.ts");
for (const name of ["createServer", "createSecureServer"]) {
  const create = http2[name];
  http2[name] = (...args) => create(...args).on("session", (session) => destroyAfterInput(session));
}
syncBuiltinESMExports();
