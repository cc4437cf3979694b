// Loaded before Jest, and in each of its workers: Node then takes TypeScript, and test files get the globals of Jest.
import { register as registerHooks } from "node:module";
import { register as registerTypeScript } from "tsx/esm/api";

registerTypeScript({ tsconfig: false });
registerHooks("./resolve.mjs", import.meta.url);
