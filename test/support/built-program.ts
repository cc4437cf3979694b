import { resolve } from "node:path";
import { build } from "rolldown";

/** Make a program of a TypeScript file, to be run in a process of its own. */
export async function builtProgram(source: string, name: string): Promise<string> {
  const file = resolve("compiled/programs", `${name}-${process.pid}.mjs`);
  await build({
    input: source,
    platform: "node",
    external: (id) => !/^([./]|@oxc-project\/)/.test(id) && id !== source, // What it makes use of itself is built in.
    transform: { target: "node20" },
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
    output: { file, codeSplitting: false, keepNames: true },
    logLevel: "warn",
  });
  return file;
}
