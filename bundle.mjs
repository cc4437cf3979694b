// Joins what tsc has compiled into compiled/, and the packages that it needs, into a few files in dist/: Node loads one file in
// a fraction of the time of a hundred. The entries share what they have in common, so that a class is one class. An entry
// loads its own file and those of the entries that it is built on. The generated code of the whole interface stays as it
// is: users import its files one by one.
import { chmod, readFile, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const entries = [
  "src/index",
  "src/archive/index",
  "src/csv/index",
  "src/transaction/index",
  "src/transport/index",
  "src/api/index",
  "src/devnode/index",
  "src/opentelemetry/index",
  "src/sync/index",
  "src/sync/contract/index",
  "src/cli/main",
  // For tests, which run the command without a process, and replace the runtime; the package does not export them.
  "src/cli/program",
  "src/runtime/index",
];
/** A module that tsc has compiled. */
const COMPILED = /\/compiled\/(src|gen)\/.*\.js$/;
/** The folder of a module's package. */
const PACKAGE = /^.*\/node_modules\/(@[^/]+\/)?[^/]+\//;
/** What a module begins with. */
const HEAD = /^(\/\/.*\n)+/;

/** Packages that are not joined: users give their own, or get what these make. Of the others, what is not used is left out. */
const { peerDependencies } = JSON.parse(await readFile("package.json", "utf8"));
const packages = [...Object.keys(peerDependencies), "jszip"];

/** Of undici its client alone is joined, without what it has for HTTP/2 and for the bodies of fetch. */
const UNDICI_CLIENT = fileURLToPath(new URL("node_modules/undici/lib/dispatcher/client.js", import.meta.url));
const LEFT_OUT = /\/(client-h2|web\/fetch\/body)\.js$/;
const NOTHING = "\0nothing";
/** What joined packages would load where it is installed, or for what nobody calls here. */
const NEVER_USED = ["@grpc/proto-loader", "@opentelemetry/api"];
const NOT_INSTALLED = "\0not-installed";
const OPTIONAL = ["bufferutil", "utf-8-validate"];

/** Leave packages as they are, and name our generated files as the package does, from wherever a file of the bundle is. */
function resolveId(id, importer = "") {
  if (id === "undici") {
    return "\0undici";
  }
  if (
    (NEVER_USED.includes(id) && importer.includes("/node_modules/")) ||
    (LEFT_OUT.test(id) && importer.includes("/node_modules/undici/"))
  ) {
    return NOTHING;
  }
  if (OPTIONAL.includes(id)) {
    return NOT_INSTALLED;
  }
  if (packages.some((name) => id === name || id.startsWith(`${name}/`))) {
    return { id, external: true };
  }
  if (/\/gen\/(datanode|google|vega)\//.test(id) && !importer.includes("/node_modules/")) {
    return { id: id.replace(/^(\.\.\/)+/, "tradewire/"), external: true };
  }
  return undefined;
}

const VIRTUAL = {
  "\0undici": `export { default as Client } from ${JSON.stringify(UNDICI_CLIENT)};`,
  [NOTHING]: "export {};",
  [NOT_INSTALLED]: 'throw new Error("This package is not used.");',
};

/** Give what stands for a package, and what tsc has compiled with its map, so that maps lead to src/. */
async function load(id) {
  if (COMPILED.test(id)) {
    const [code, map] = await Promise.all([readFile(id, "utf8"), readFile(`${id}.map`, "utf8")]);
    return { code, map: JSON.parse(map) };
  }
  return VIRTUAL[id];
}

/**
 * Adapt what is joined. Calls are kept that are made for the error that they throw, as Protobuf checks texts: the bundler
 * takes these for calls that never throw, and leaves out those whose value nobody uses. Built-in modules are asked for
 * without `require`, which is missing where users bundle the whole for ES modules. Maps lead to our own sources alone:
 * those of other packages are not in this one, and their code is readable as it is.
 */
function transform(code, id) {
  if (COMPILED.test(id)) {
    return undefined;
  }
  const kept = code.replaceAll(/^(\s*)((?:de|en)codeURI(?:Component)?)\(/gm, "$1globalThis.$2(");
  const asked = kept.replaceAll(/\brequire\((["'])([\w:/]+)\1\)/g, (call, _, name) =>
    isBuiltin(name) ? `globalThis.process.getBuiltinModule("${name}")` : call,
  );
  return { code: asked, map: { version: 3, mappings: "", sources: [], names: [] } };
}

/** The licence of a package, by its folder; where it comes without one, what stands at the head of its files. */
async function licence(folder) {
  const { name, version, license, author } = JSON.parse(await readFile(`${folder}package.json`, "utf8"));
  const text = await readFile(`${folder}LICENSE`, "utf8").catch(async () => {
    const heads = modules.filter((module) => module.startsWith(folder)).map((file) => readFile(file, "utf8"));
    return [...new Set((await Promise.all(heads)).map((source) => HEAD.exec(source)?.[0].trim()))].join("\n\n");
  });
  return `${name} ${version}, ${license} ${author?.name ?? author ?? ""}\n\n${text.trim()}\n`;
}

/** What is in one file, with what it imports that no file before has. What none has is split where it is shared. */
const groups = [
  ["call-key", /\/compiled\/src\/transport\/call-key\.js$/],
  ["errors", /\/compiled\/src\/((errors|runtime|signal)\/|input\/assert\.js$)/],
  ["yauzl", /\/node_modules\/yauzl\//],
  ["yazl", /\/node_modules\/yazl\//],
  ["protobuf", /\/node_modules\/@bufbuild\/protobuf\/|\/compiled\/gen\/client\//],
  ["csv", /\/compiled\/src\/csv\/index\.js$/],
  ["archive", /\/compiled\/src\/archive\/index\.js$/],
  ["transaction", /\/compiled\/src\/transaction\/index\.js$/],
  ["json", /\/compiled\/src\/json\/json-values\.js$/],
  ["program", /\/compiled\/src\/cli\/(process|program)\.js$/],
  [
    "client",
    /\/compiled\/src\/(index|transport\/keepalive)\.js$|\/connect\/.*\/(http-headers|create-method-url|status_pb)\.js$/,
  ],
  ["command", /\/compiled\/src\/cli\/(client|client-options|command-files|parsers|print-rows|progress)\.js$/],
].map(([name, test], index, { length }) => ({ name, test, priority: length - index }));

const bundle = await rolldown({
  input: Object.fromEntries(entries.map((entry) => [entry, `compiled/${entry}.js`])),
  platform: "node",
  preserveEntrySignatures: "allow-extension",
  plugins: [{ name: "packages", resolveId, load, transform }],
});
const { output } = await bundle.write({
  dir: "dist",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  codeSplitting: { groups },
  sourcemap: true,
  sourcemapExcludeSources: true, // They are in the package.
  comments: { legal: true, annotation: false, jsdoc: false },
  keepNames: true, // An error's name is that of its class.
});
const modules = output.flatMap(({ moduleIds = [] }) => moduleIds).sort();
const folders = new Set(modules.flatMap((module) => PACKAGE.exec(module)?.[0] ?? []));
const licences = await Promise.all([...folders].map(licence));
await writeFile("dist/chunks/LICENSES", licences.join(`\n${"-".repeat(80)}\n\n`));
// npm makes it executable where it installs the package, and not in the checkout.
await chmod("dist/src/cli/main.js", 0o755);
