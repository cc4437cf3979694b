// Bundles the program in entry.mjs with the bundler of the first argument to the file of the second. Copied to where the bundlers
// are installed. Warnings are failures.
import { basename, dirname } from "node:path";

const [bundler, file] = process.argv.slice(2);
const folder = dirname(file);
const input = "entry.mjs";

function refuse(warnings) {
  if (warnings.length > 0) {
    throw new Error(`there are warnings:\n${warnings.join("\n")}`);
  }
}

/** What packages in CommonJS ask for with `require` is not there in ES modules that esbuild makes. */
const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

async function esbuild(format) {
  const { build } = await import("esbuild");
  const options = { entryPoints: [input], outfile: file, bundle: true, platform: "node", format, logLevel: "silent" };
  const { warnings } = await build({ ...options, banner: { js: format === "esm" ? REQUIRE : "" } });
  refuse(warnings.map(({ text }) => text));
}

/** What Rollup warns of in JSZip's modules, in TypeScript's helpers in Connect and Protobuf, and in the comments of Zod. */
const OF_PACKAGES = ["CIRCULAR_DEPENDENCY", "THIS_IS_UNDEFINED", "INVALID_ANNOTATION"];

async function rollupLike({ rollup }, plugins, options = {}) {
  const warnings = [];
  const onLog = (_, { code, message }) => {
    const isOfPackages = OF_PACKAGES.includes(code) && !/tradewire\/dist/.test(message);
    if (!isOfPackages) warnings.push(message);
  };
  const bundle = await rollup({ input, plugins, ...options, onLog });
  await bundle.write({ dir: folder, entryFileNames: basename(file) });
  refuse(warnings);
}

const bundlers = {
  "esbuild-esm": () => esbuild("esm"),
  "esbuild-cjs": () => esbuild("cjs"),
  async rollup() {
    const { nodeResolve } = await import("@rollup/plugin-node-resolve");
    const { default: commonjs } = await import("@rollup/plugin-commonjs");
    const { default: json } = await import("@rollup/plugin-json"); // gRPC's package reads its own package.json.
    // Node 20 has no SQLite, which undici asks for when somebody stores its cache there.
    const requires = commonjs({ ignore: ["node:sqlite"] });
    const plugins = [nodeResolve({ preferBuiltins: true, exportConditions: ["node"] }), requires, json()];
    await rollupLike(await import("rollup"), plugins, { external: /^node:/ });
  },
  async rolldown() {
    const { rolldown } = await import("rolldown");
    await rollupLike({ rollup: rolldown }, [], { platform: "node" });
  },
  async vite() {
    const { build, createLogger } = await import("vite");
    const warnings = [];
    const warn = (message) => warnings.push(message);
    const customLogger = { ...createLogger("silent"), warn, warnOnce: warn };
    const rolldownOptions = { output: { entryFileNames: basename(file) } };
    const ssr = { noExternal: true };
    await build({
      configFile: false,
      customLogger,
      ssr,
      build: { ssr: input, outDir: folder, emptyOutDir: true, rolldownOptions },
    });
    refuse(warnings);
  },
  async webpack() {
    const { default: webpack } = await import("webpack");
    const options = {
      entry: `./${input}`,
      target: "node20",
      mode: "production",
      experiments: { outputModule: true },
      resolve: { alias: { bufferutil: false, "utf-8-validate": false } }, // ws does without them.
      output: { path: folder, filename: basename(file), module: true },
    };
    const stats = await new Promise((resolve, reject) =>
      webpack(options, (error, result) => (error ? reject(error) : resolve(result))),
    );
    const { errors, warnings } = stats.toJson();
    refuse([...errors, ...warnings].map(({ message }) => message));
  },
};

await bundlers[bundler]();
