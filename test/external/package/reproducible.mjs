// A case of run.mjs: two clones give the same package, byte by byte, whatever their folder, clock, language, umask, Node and npm.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

const BUILD_SECONDS = 600;
/** How many names of files are shown. */
const SHOWN = 10;
/** It is never the same date in both places, and Estonian sorts z before t. */
const PLACES = [
  { name: "a", umask: "022", env: { TZ: "Etc/GMT+12", LANG: "C", LC_ALL: "C" } },
  {
    name: "longer/of two folders",
    umask: "077",
    env: { TZ: "Pacific/Kiritimati", LANG: "et_EE.UTF-8", LC_ALL: "et_EE.UTF-8" },
  },
];

const hashOf = async (file, algorithm, encoding) =>
  createHash(algorithm)
    .update(await readFile(file))
    .digest(encoding);

/** Returns the SHA-256 and the mode of each file below a folder. */
async function describe(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const descriptions = paths.map(async (path) => {
    const mode = (await stat(path)).mode & 0o777;
    return [path.slice(folder.length + 1), { sha256: await hashOf(path, "sha256", "hex"), mode: mode.toString(8) }];
  });
  return new Map(await Promise.all(descriptions));
}

/** Fails if files differ in a property, with their names. */
function assertEqualFiles(one, other, property) {
  const names = [...new Set([...one.keys(), ...other.keys()])];
  const differing = names.filter((name) => one.get(name)?.[property] !== other.get(name)?.[property]);
  const shown = differing.slice(0, SHOWN).map((name) => {
    return `${name}: ${one.get(name)?.[property]}, ${other.get(name)?.[property]}`;
  });
  assert.ok(differing.length === 0, `${differing.length} files differ in ${property}:\n${shown.join("\n")}`);
}

/** Clone the last commit twice, and build and pack each clone. */
export async function buildTwice({ root, folder, run, otherPath }) {
  const [first, second] = PLACES.map((place) => ({ ...place, clone: join(folder, "reproducible", place.name) }));
  second.env = { ...second.env, PATH: otherPath };
  const packages = [];
  for (const { clone, umask, env } of [first, second]) {
    const withUmask = (...command) => ["-c", 'umask "$0" && exec "$@"', umask, ...command];
    await mkdir(dirname(clone), { recursive: true });
    await run("sh", withUmask("git", "clone", "--quiet", "--depth", "1", `file://${root}`, clone), { cwd: folder });
    // A copy: links would give both builds the same paths.
    await cp(join(root, "node_modules"), join(clone, "node_modules"), { recursive: true, verbatimSymlinks: true });
    await run("sh", withUmask("npm", "run", "--silent", "prepare"), { cwd: clone, env, seconds: BUILD_SECONDS });
    assert.equal(await run("git", ["status", "--porcelain"], { cwd: clone }), "", "the build has changed sources");

    // One npm packs both: another Node may compress in another way.
    const packed = `${clone}-packed`;
    const unpacked = `${clone}-unpacked`;
    await mkdir(packed);
    await mkdir(unpacked);
    await run("npm", ["pack", "--ignore-scripts", "--pack-destination", packed], { cwd: clone });
    const [name] = await readdir(packed);
    const tarball = join(packed, name);
    await run("tar", ["--extract", "--preserve-permissions", "--file", tarball, "--directory", unpacked], {});
    packages.push({ name, sha512: await hashOf(tarball, "sha512", "base64"), files: await describe(unpacked) });
  }
  const [one, other] = packages;
  assert.ok(one.files.has("package/dist/src/index.js"));
  assertEqualFiles(one.files, other.files, "sha256");
  assertEqualFiles(one.files, other.files, "mode");
  assert.deepEqual([other.name, other.sha512], [one.name, one.sha512]);
}
