import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { dirname, join, resolve } from "node:path";
import { expect, it } from "@jest/globals";
import { rolldown } from "rolldown";

/** The optional packages, which a program installs if it needs them. */
const OPTIONAL = ["pg", "pg-boss", "pg-copy-streams", "@duckdb/node-api", "prom-client"];

/** Bundles a program that uses one export of the package, and returns the size of all of its files, in kB. */
async function bundledKb(subpath: string, name: string): Promise<number> {
  const entry = resolve("entry.mjs");
  const bundle = await rolldown({
    input: entry,
    platform: "node",
    external: [/^node:/, ...builtinModules, ...OPTIONAL],
    logLevel: "silent",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) => (id === entry ? `import { ${name} } from "${subpath}"; console.log(${name});` : undefined),
      },
    ],
  });
  const { output } = await bundle.generate({ minify: true });
  const sizes = output.map((file) => (file.type === "chunk" ? Buffer.byteLength(file.code) : 0));
  return sizes.reduce((sum, size) => sum + size, 0) / 1000;
}

it.each([
  ["tradewire", "formatDecimal", 20],
  ["tradewire", "createClient", 2150],
  ["tradewire/csv", "encodeCsv", 20],
  ["tradewire/archive", "openArchive", 400],
  ["tradewire/transaction", "signerFromSeed", 100],
  ["tradewire/transport", "createGrpcTransport", 250],
  ["tradewire/transport", "createRestTransport", 820], // Two thirds of it are undici.
  ["tradewire/transport", "createGrpcJsTransport", 700], // Most of it is @grpc/grpc-js.
  ["tradewire/api", "vega", 400],
  ["tradewire/opentelemetry", "openTelemetry", 30],
  ["tradewire/sync", "syncHistory", 250],
  ["tradewire/sync/contract", "sinkContract", 200],
  ["tradewire/journal/contract", "journalContract", 100],
  ["tradewire/devnode", "startDevnode", 900],
])("%s: a program with %s is bundled in at most %d kB", async (subpath, name, limit) => {
  const size = await bundledKb(subpath, name);
  expect(size).toBeLessThan(limit);
  expect(size).toBeGreaterThan(1);
});

/** Returns the files that Node loads for a file, by what they import at once. */
async function loadedFiles(file: string, files = new Set<string>()): Promise<Set<string>> {
  if (!files.has(file)) {
    files.add(file);
    const imports = (await readFile(file, "utf8")).matchAll(/^(?:import|export)\b[^;\n]*?"(\.[^"]+)"/gm);
    for (const [, imported = ""] of imports) {
      await loadedFiles(join(dirname(file), imported), files);
    }
  }
  return files;
}

it.each([
  "data/archive",
  "data/csv",
  "trade/transaction",
  "wire/transport",
  "wire/opentelemetry",
  "sync",
  "client/api",
])("%s does not load the client", async (path) => {
  const names = [...(await loadedFiles(`dist/src/${path}/index.js`))].map((file) => file.replace(/^dist\//, ""));
  expect(names.filter((name) => /^(chunks\/client|src\/index)/.test(name))).toEqual([]);
  // It would be empty if the client had another name.
  expect([...(await loadedFiles("dist/src/index.js"))].some((file) => /chunks\/client-/.test(file))).toBe(true);
});
