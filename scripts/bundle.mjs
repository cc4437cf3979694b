// Joins our modules that tsc has compiled into compiled/ into a few files in dist/: Node loads one file in a fraction of the time of
// a hundred. The entries share what they have in common, so that a class is one class. An entry loads its own file and those
// of the entries that it is built on. Packages stay outside. The generated code of the whole interface stays as it is: users
// import its files one by one.
import { accessSync } from "node:fs";
import { chmod, readFile } from "node:fs/promises";
import { resolve } from "node:path";
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
const files = {
  base: [
    "src/base/errors/index",
    "src/base/errors/network-failure",
    "src/base/errors/observer",
    "src/base/errors/caller-stack",
    "src/base/errors/reaction",
    "src/base/errors/transaction-errors",
    "src/base/file/device",
    "src/base/file/exposure",
    "src/base/file/lock-file",
    "src/base/input/call-options",
    "src/base/input/lazy",
    "src/base/input/snapshot",
    "src/base/signal/abort",
    "src/base/signal/collections",
    "src/base/signal/turns",
    "src/base/profile",
    "src/base/signal/wait",
    "src/wire/json/error-tail",
    "src/wire/transport/call-context",
    "src/data/schema/table-names",
  ],
  google: ["gen/client/google/api/annotations_pb", "gen/client/google/api/httpbody_pb"],
  definitions: [
    "gen/client/datanode/api/v2/trading_data_pb",
    "gen/client/vega/api/v1/core_pb",
    "gen/client/vega/commands/v1/transaction_pb",
    "gen/client/vega/events/v1/events_pb",
  ],
  csv: ["src/data/csv/index"],
  schemas: ["src/base/input/schemas"],
  json: ["src/wire/json/any", "src/wire/json/error-object"],
  archive: ["src/data/archive/index", "src/data/zip/archive-end"],
  history: [
    "src/base/postgres",
    "src/data/history/data-node-lag",
    "src/data/history/expected-file",
    "src/data/history/segment-chain",
    "src/data/history/export-request",
    "src/data/schema/sql",
  ],
  transaction: ["src/trade/transaction/index", "src/base/input/message-init"],
  transport: ["src/wire/transport/index"],
  program: ["src/cli/process"],
  client: ["src/index"],
  command: [
    "src/cli/client",
    "src/cli/client-options",
    "src/cli/command-files",
    "src/cli/parsers",
    "src/cli/print-rows",
    "src/cli/progress",
  ],
};
const groups = Object.entries(files).map(([name, modules], index, { length }) => {
  const paths = modules.map((module) => resolve("compiled", `${module}.js`));
  for (const path of paths) {
    accessSync(path); // A file that was renamed would be in no group, unnoticed.
  }
  return { name, test: (id) => paths.includes(id), priority: length - index };
});

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
