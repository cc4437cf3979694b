import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Running, start } from "./command-process.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** An example in a folder of its own, where the package is installed. */
export interface Example extends AsyncDisposable {
  readonly folder: string;
  /** Start `node main.js`. */
  run(args: readonly string[], environment: Readonly<Record<string, string>>): Running;
}

/** Make a folder inside the project, where its packages are found, with the package installed in it. */
export async function installedFolder(name: string): Promise<string> {
  await mkdir(join(root, "out"), { recursive: true });
  const folder = await mkdtemp(join(root, `out/${name}-`));
  await mkdir(join(folder, "node_modules"));
  await symlink(root, join(folder, "node_modules/tradewire"), "dir");
  return folder;
}

/** Copy an example to a folder of its own, with the package installed in it. */
export async function installExample(name: string): Promise<Example> {
  const folder = await installedFolder(name);
  await cp(join(root, "examples", name), folder, { recursive: true });
  return {
    folder,
    run: (args, environment) => start(process.execPath, ["main.js", ...args], folder, environment),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
