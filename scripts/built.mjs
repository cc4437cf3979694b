// Builds, unless dist/ is whole and nothing that it is made of has changed since: `npm ci` has built it before the first
// `npm test` or `npm run demo`.
import { spawnSync } from "node:child_process";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const INPUTS = ["src", "gen", "scripts", "package.json", "package-lock.json", "tsconfig.json"];

/** When a file, or a folder or what is in it, was last changed; 0 where it is not there. */
async function changed(path) {
  const found = await stat(path).catch(() => undefined);
  const inside = found?.isDirectory() ? await readdir(path) : [];
  return Math.max(found?.mtimeMs ?? 0, ...(await Promise.all(inside.map((name) => changed(join(path, name))))));
}

const [built, ...inputs] = await Promise.all(["dist/.built", ...INPUTS].map(changed));
if (built < Math.max(...inputs)) {
  const { status } = spawnSync("npm", ["run", "--silent", "build"], { stdio: "inherit", shell: true });
  process.exitCode = status ?? 1;
}
