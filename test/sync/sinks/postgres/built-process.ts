import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Make a program of a file beside this one. Packages are found from where it lies. */
export async function builtProcess(name: string): Promise<string> {
  const outfile = fileURLToPath(new URL(`../../../../node_modules/.cache/${name}-${process.pid}.mjs`, import.meta.url));
  const entryPoints = [fileURLToPath(new URL(`${name}.ts`, import.meta.url))];
  await build({ entryPoints, outfile, bundle: true, platform: "node", format: "esm", packages: "external" });
  return outfile;
}
