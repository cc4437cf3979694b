// Joins what tsc has compiled into a few files: Node loads one file in a fraction of the time of a hundred. The entries
// keep their places in dist/, and share what they have in common, so that a class is one class. Packages stay packages,
// but for zod, of which the client needs a tenth. The generated code of the whole interface stays as it is, too: users
// import its files one by one.
import { copyFile, readFile, rm } from "node:fs/promises";
import { build } from "esbuild";

const entries = [
  "src/index",
  "src/transport",
  "src/api/index",
  "src/devnode/index",
  "src/sync/index",
  "src/sync/contract/index",
  "src/cli/main",
];
const JOINED = ["zod"];

const { dependencies, peerDependencies } = JSON.parse(await readFile("package.json", "utf8"));
const packages = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !JOINED.includes(name));

/** The package knows its generated files by their public names, from wherever a file of the bundle is. */
function generated({ path }) {
  return { path: path.replace(/^(\.\.\/)+/, "tradewire/"), external: true };
}

await rm("dist/chunks", { recursive: true, force: true });
await build({
  entryPoints: entries.map((entry) => `dist/${entry}.js`),
  outbase: "dist",
  outdir: "dist",
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  format: "esm",
  platform: "node",
  target: "node20.19",
  external: packages,
  plugins: [
    {
      name: "generated",
      setup: ({ onResolve }) => onResolve({ filter: /\/gen\/(datanode|google|vega)\// }, generated),
    },
  ],
  logLevel: "warning",
});
for (const name of JOINED) {
  await copyFile(`node_modules/${name}/LICENSE`, `dist/chunks/${name}.LICENSE`);
}
