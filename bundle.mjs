// Joins what tsc has compiled, and the packages that the client always needs, into a few files: Node loads one file in a
// fraction of the time of a hundred. The entries keep their places in dist/, and share what they have in common, so that
// a class is one class. All that importing the library loads is one file. The generated code of the whole interface
// stays as it is: users import its files one by one.
import { readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { rolldown } from "rolldown";

const entries = [
  "src/index",
  "src/transport",
  "src/api/index",
  "src/devnode/index",
  "src/sync/index",
  "src/sync/contract/index",
  "src/cli/main",
];
/** Packages that are joined: what is not used of them is left out. The others stay packages. */
const JOINED = [
  "@bufbuild/protobuf",
  "@connectrpc/connect",
  "@connectrpc/connect-node",
  "@humanwhocodes/momoa",
  "@noble/curves",
  "@noble/hashes",
  "commander",
  "content-disposition",
  "zod",
];

/** What a module begins with. */
const HEAD = /^(\/\/.*\n)+/;

const { dependencies, peerDependencies } = JSON.parse(await readFile("package.json", "utf8"));
const packages = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !JOINED.includes(name));

/** Leave packages as they are, and name our generated files as the package does, from wherever a file of the bundle is. */
function resolveId(id, importer = "") {
  if (packages.some((name) => id === name || id.startsWith(`${name}/`))) {
    return { id, external: true };
  }
  if (/\/gen\/(datanode|google|vega)\//.test(id) && !importer.includes("/node_modules/")) {
    return { id: id.replace(/^(\.\.\/)+/, "tradewire/"), external: true };
  }
  return undefined;
}

/** The licence of a package; where it comes without one, what stands at the head of its files. */
async function licence(name, modules) {
  const folder = resolve("node_modules", name);
  const { version, license, author = "" } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
  const text = await readFile(`${folder}/LICENSE`, "utf8").catch(async () => {
    const files = modules.filter((module) => module.startsWith(`${folder}/`));
    const heads = files.map(async (file) => HEAD.exec(await readFile(file, "utf8"))?.[0].trim());
    return [...new Set(await Promise.all(heads))].join("\n\n");
  });
  return `${name} ${version}, ${license} ${author}\n\n${text.trim()}\n`;
}

const bundle = await rolldown({
  input: Object.fromEntries(entries.map((entry) => [entry, `dist/${entry}.js`])),
  platform: "node",
  preserveEntrySignatures: "allow-extension",
  plugins: [{ name: "packages", resolveId }],
});
await rm("dist/chunks", { recursive: true, force: true });
const { output } = await bundle.write({
  dir: "dist",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  codeSplitting: {
    groups: [
      { name: "errors", test: /\/dist\/src\/(errors|signal)\//, priority: 1 },
      { name: "client", test: /\/dist\/src\/index\.js$/ },
    ],
  },
  comments: { legal: true, annotation: false, jsdoc: false },
  keepNames: true, // An error's name is that of its class.
});
const modules = output.flatMap(({ moduleIds = [] }) => moduleIds).sort();
const licences = await Promise.all(JOINED.map((name) => licence(name, modules)));
await writeFile("dist/chunks/LICENSES", licences.join(`\n${"-".repeat(80)}\n\n`));
