// The last step of the build: writes what the package installs to dist/sbom.cdx.json, as a CycloneDX bill of materials that npm makes of the lockfile. Without the
// packages for development, as npm leaves out what both need. What differs from run to run is left out, so that a build can be repeated.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const read = async (path) => JSON.parse(await readFile(path, "utf8"));
const installed = ({ devDependencies: _, peerDependencies: __, peerDependenciesMeta: ___, ...rest }) => rest;

const lock = await read("package-lock.json");
const { "": root, ...packages } = lock.packages;
const kept = Object.fromEntries(
  Object.entries(packages).filter(([, { dev, devOptional }]) => dev !== true && devOptional !== true),
);
const files = {
  "package.json": installed(await read("package.json")),
  "package-lock.json": { ...lock, packages: { "": installed(root), ...kept } },
};
const parent = await mkdtemp(join(tmpdir(), "tradewire-sbom-"));
const folder = join(parent, "tradewire"); // npm names what it lists by the folder.
try {
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder, name), JSON.stringify(content));
  }
  const args = ["sbom", "--sbom-format=cyclonedx", "--sbom-type=library", "--package-lock-only"];
  const settings = { cwd: folder, maxBuffer: 16 * 2 ** 20, shell: process.platform === "win32" };
  const { serialNumber: _, ...bill } = JSON.parse((await promisify(execFile)("npm", args, settings)).stdout);
  const { timestamp: __, ...metadata } = bill.metadata;
  await writeFile("dist/sbom.cdx.json", `${JSON.stringify({ ...bill, metadata }, null, 2)}\n`);
} finally {
  await rm(parent, { recursive: true });
}
await writeFile("dist/.built", ""); // The build is whole.
