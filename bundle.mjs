// Joins what tsc has compiled, and the packages that the client always needs, into a few files: Node loads one file in a
// fraction of the time of a hundred. The entries keep their places in dist/, and share what they have in common, so that
// a class is one class. All that importing the library loads is one file. The generated code of the whole interface
// stays as it is: users import its files one by one.
import { readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const entries = [
  "src/index",
  "src/transport",
  "src/api/index",
  "src/devnode/index",
  "src/opentelemetry/index",
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
  "string-width",
  "undici",
  "yauzl",
  "yazl",
  "zod",
];

/** The folder of a module's package. */
const PACKAGE = /^.*\/node_modules\/(@[^/]+\/)?[^/]+\//;
/** What a module begins with. */
const HEAD = /^(\/\/.*\n)+/;

const { dependencies, peerDependencies } = JSON.parse(await readFile("package.json", "utf8"));
const packages = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !JOINED.includes(name));

/** Of undici its client alone is joined, without what it has for HTTP/2 and for the bodies of fetch. */
const UNDICI_CLIENT = fileURLToPath(new URL("node_modules/undici/lib/dispatcher/client.js", import.meta.url));
const LEFT_OUT = /\/(client-h2|web\/fetch\/body)\.js$/;
const NOTHING = "\0nothing";

/** Leave packages as they are, and name our generated files as the package does, from wherever a file of the bundle is. */
function resolveId(id, importer = "") {
  if (id === "undici") {
    return "\0undici";
  }
  if (LEFT_OUT.test(id) && importer.includes("/node_modules/undici/")) {
    return NOTHING;
  }
  if (packages.some((name) => id === name || id.startsWith(`${name}/`))) {
    return { id, external: true };
  }
  if (/\/gen\/(datanode|google|vega)\//.test(id) && !importer.includes("/node_modules/")) {
    return { id: id.replace(/^(\.\.\/)+/, "tradewire/"), external: true };
  }
  return undefined;
}

function load(id) {
  return { [NOTHING]: "export {};", "\0undici": `export { default as Client } from ${JSON.stringify(UNDICI_CLIENT)};` }[
    id
  ];
}

/**
 * Keep calls that are made for the error that they throw: the bundler takes these for calls that never throw, and leaves
 * out those whose value nobody uses. Protobuf checks texts so.
 */
function transform(code) {
  const kept = code.replaceAll(/^(\s*)((?:de|en)codeURI(?:Component)?)\(/gm, "$1globalThis.$2(");
  return kept === code ? undefined : { code: kept, map: null };
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
  ["call-key", /\/dist\/src\/transport\/call-key\.js$/],
  ["errors", /\/dist\/src\/(errors|signal)\//],
  ["yauzl", /\/node_modules\/yauzl\//],
  ["yazl", /\/node_modules\/yazl\//],
  ["program", /\/dist\/src\/cli\/program\.js$/],
  [
    "client",
    /\/dist\/src\/(index|transport\/keepalive)\.js$|\/connect\/.*\/(http-headers|create-method-url|status_pb)\.js$/,
  ],
  [
    "command",
    /\/dist\/src\/cli\/(archive-output|client|client-options|print-rows|progress|table-name|whole-number)\.js$/,
  ],
].map(([name, test], index, { length }) => ({ name, test, priority: length - index }));

const bundle = await rolldown({
  input: Object.fromEntries(entries.map((entry) => [entry, `dist/${entry}.js`])),
  platform: "node",
  preserveEntrySignatures: "allow-extension",
  plugins: [{ name: "packages", resolveId, load, transform }],
});
await rm("dist/chunks", { recursive: true, force: true });
const { output } = await bundle.write({
  dir: "dist",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  codeSplitting: { groups },
  comments: { legal: true, annotation: false, jsdoc: false },
  keepNames: true, // An error's name is that of its class.
});
const modules = output.flatMap(({ moduleIds = [] }) => moduleIds).sort();
const folders = new Set(modules.flatMap((module) => PACKAGE.exec(module)?.[0] ?? []));
const licences = await Promise.all([...folders].map(licence));
await writeFile("dist/chunks/LICENSES", licences.join(`\n${"-".repeat(80)}\n\n`));
