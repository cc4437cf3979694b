// The last step of the build: writes what the package installs to dist/sbom.cdx.json, as a CycloneDX bill of materials that npm makes of the
// lockfile. It has no packages for development, as npm leaves out what both need. It is the same in each run and with each version of npm, so
// that a build can be repeated.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const read = async (path) => JSON.parse(await readFile(path, "utf8"));
/** Removes what only some versions of npm write. */
const common = ({ properties: _, externalReferences: __, ...component }) => component;
/** Sorts entries by a key, and keeps one of each: npm 10 lists a package once for each folder that has it. */
const sortedSet = (entries, key) =>
  [...new Map(entries.map((entry) => [entry[key], entry])).values()].sort((a, b) => (a[key] < b[key] ? -1 : 1));
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
  const tools = metadata.tools.map(({ version: ___, ...tool }) => tool);
  const repeatable = {
    ...bill,
    metadata: { ...metadata, tools, component: common(metadata.component) },
    components: sortedSet(bill.components.map(common), "bom-ref"),
    dependencies: sortedSet(bill.dependencies, "ref"),
  };
  await writeFile("dist/sbom.cdx.json", `${JSON.stringify(repeatable, null, 2)}\n`);
} finally {
  await rm(parent, { recursive: true });
}
await writeFile("dist/.built", ""); // The build is whole.
