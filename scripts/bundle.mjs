// Joins our modules that tsc has compiled into compiled/ into a few files in dist/: Node loads one file in a fraction of the time of
// a hundred. The entries share what they have in common, so that a class is one class. An entry loads its own file and those
// of the entries that it is built on. Packages stay outside. The generated code of the whole interface stays as it is: users
// import its files one by one.
import { chmod, readFile } from "node:fs/promises";
import { rolldown } from "rolldown";

const entries = [
  "src/index",
  "src/data/archive/index",
  "src/data/csv/index",
  "src/trade/transaction/index",
  "src/wire/transport/index",
  "src/client/api/index",
  "src/node/index",
  "src/wire/opentelemetry/index",
  "src/sync/index",
  "src/sync/contract/index",
  "src/trade/intent/contract/index",
  "src/cli/main",
  // For tests, which run the command without a process, and replace the runtime; the package does not export them.
  "src/cli/program",
  "src/base/runtime/index",
];
/** A module that tsc has compiled. */
const COMPILED = /\/compiled\/(src|gen)\/.*\.js$/;

/** Packages stay outside, as does the generated code of the whole interface, which is named as the package exports it. */
function resolveId(id) {
  if (/\/gen\/(datanode|google|vega)\//.test(id)) {
    return { id: id.replace(/^(\.\.\/)+/, "tradewire/"), external: true };
  }
  return id.startsWith(".") || id.startsWith("/") || id.startsWith("compiled/") ? undefined : { id, external: true };
}

/** Give what tsc has compiled with its map, so that maps lead to src/. */
async function load(id) {
  if (COMPILED.test(id)) {
    const [code, map] = await Promise.all([readFile(id, "utf8"), readFile(`${id}.map`, "utf8")]);
    return { code, map: JSON.parse(map) };
  }
  return undefined;
}

/** What is in one file, with what it imports that no file before has. What none has is split where it is shared. */
const groups = [
  ["call-key", /\/compiled\/src\/wire\/transport\/call-key\.js$/],
  ["errors", /\/compiled\/src\/base\/((errors(?!\/error-codes)|runtime|signal)\/|input\/(assert|lazy)\.js$)/],
  ["definitions", /\/compiled\/gen\/client\//],
  ["csv", /\/compiled\/src\/data\/csv\/index\.js$/],
  ["archive", /\/compiled\/src\/data\/(archive\/index|zip\/archive-end)\.js$/],
  ["transaction", /\/compiled\/src\/(trade\/transaction\/index|base\/input\/message-init)\.js$/],
  ["json", /\/compiled\/src\/wire\/json\/json-values\.js$/],
  ["program", /\/compiled\/src\/cli\/(process|program)\.js$/],
  ["client", /\/compiled\/src\/(index|wire\/transport\/keepalive)\.js$/],
  ["command", /\/compiled\/src\/cli\/(client|client-options|command-files|parsers|print-rows|progress)\.js$/],
].map(([name, test], index, { length }) => ({ name, test, priority: length - index }));

const bundle = await rolldown({
  input: Object.fromEntries(entries.map((entry) => [entry, `compiled/${entry}.js`])),
  platform: "neutral",
  preserveEntrySignatures: "allow-extension",
  plugins: [{ name: "packages", resolveId, load }],
});
await bundle.write({
  dir: "dist",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  codeSplitting: { groups },
  sourcemap: true,
  sourcemapExcludeSources: true, // They are in the package.
  comments: { legal: true, annotation: false, jsdoc: false },
  keepNames: true, // An error's name is that of its class.
});

// npm makes it executable where it installs the package, and not in the checkout.
await chmod("dist/src/cli/main.js", 0o755);
