// The cases of run.mjs. A case throws where it failed, and gives the reason where it was left out.
import assert from "node:assert/strict";
import { copyFile, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createPeerCases, NPMS } from "./peers.mjs";
import { buildTwice } from "./reproducible.mjs";

/** The tools, which are installed for the cases alone. Node's first version is the oldest that the package promises. */
const NODES = ["20.19.0", "22.23.3", "24.9.0"];
const TYPESCRIPT = ["typescript@6.0.3", "@types/node@20.19.43"];
const BUNDLERS = [
  ...["esbuild@0.28.2", "vite@8.3.8", "webpack@5.112.2", "rolldown@1.2.19"],
  ...[
    "rollup@4.68.7",
    "@rollup/plugin-node-resolve@16.0.3",
    "@rollup/plugin-commonjs@29.0.3",
    "@rollup/plugin-json@6.1.0",
  ],
];
const JEST = "jest@30.5.2";
const VITEST = "vitest@4.1.12";
const RUNTIMES = { bun: "bun@1.4.5", deno: "deno@2.9.6" };
const PUBLINT = "publint@0.3.25";
const ATTW = "@arethetypeswrong/cli@0.18.5";

/** Connect in the version that the package has, and in another one. */
const CONNECT = ["@connectrpc/connect@2.1.2", "@connectrpc/connect@2.2.0"];

/** What may be packed, and no more. */
const PACKED = /^(dist|src|gen|docs|examples|proto)\/|^(package\.json|README\.md|LICENSE|CHANGELOG\.md|SECURITY\.md)$/;
/** What the files of the installed packages may have together, in bytes. */
const MAX_BYTES = 40_000_000;
/** Versions of packages that a user puts in the place of those that npm takes, as where one has a fix of its own. */
const OVERRIDES = { undici: "7.29.0", ws: "8.20.0" };

/** Put the cases together. */
export async function createCases({ root, folder, tarball, plain, programText, install, installWith, run, env }) {
  const required = programText.replaceAll(/^import ([^;]+?) from ("[^"]+");$/gm, (_, names, name) => {
    return `const ${names.replaceAll(" as ", ": ")} = require(${name});`;
  });
  const asTest = (source, head) => `${head}\n${source.replace(/main\(\);\n$/, 'test("works", main, 60_000);\n')}`;

  /** Install tools once, where a case needs them. */
  const installed = new Map();
  function tools(name, ...packages) {
    const made = installed.get(name) ?? install(join(folder, name), ...packages);
    installed.set(name, made);
    return made.then(() => join(folder, name));
  }
  async function runProgram(command, args, cwd) {
    const out = await run(command, args, { cwd, env });
    assert.match(out, /all is as it should be/);
  }
  const runFile = async (command, file, source) => {
    await writeFile(join(plain, file), source);
    await runProgram(command, [file], plain);
  };
  const nodeOf = async (version) =>
    join(await tools(`node-${version}`, `node@${version}`), "node_modules/node/bin/node");
  /** The PATH with a Node and the npm that comes with it. */
  async function pathOf(version) {
    const npm = NPMS[version];
    const bin = join(await tools(`npm-${npm}`, `npm@${npm}`), "node_modules/.bin");
    return [dirname(await nodeOf(version)), bin, process.env.PATH].join(":");
  }

  async function runtime(name, args) {
    const command = await tools(name, RUNTIMES[name]).then(
      (own) => join(own, "node_modules/.bin", name),
      () => undefined,
    );
    if (command === undefined || !(await run(command, ["--version"], {}).catch(() => undefined))) {
      return `npm has no ${RUNTIMES[name]} for this machine`;
    }
    await writeFile(join(plain, "program.mjs"), programText);
    await runProgram(command, [...args, "program.mjs"], plain);
    return undefined;
  }

  /** Compile a file that imports packages of the folder. */
  async function compile(own, file, module, moduleResolution) {
    const options = { module, moduleResolution, target: "es2023", lib: ["es2023", "dom"], types: ["node"] };
    const compilerOptions = { ...options, strict: true, skipLibCheck: false, noEmit: true };
    await writeFile(join(own, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [file] }));
    await run("npx", ["tsc"], { cwd: own });
  }

  async function typescript(module, resolution, extension) {
    const own = await tools("typescript", ...TYPESCRIPT, tarball);
    const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const entries = Object.keys(exports).filter((entry) => !/\*|json/.test(entry));
    const names = [...entries.map((entry) => `tradewire${entry.slice(1)}`), "tradewire/gen/vega/vega_pb.js"];
    const lines = names.map((name, index) => `export * as entry${index} from "${name}";\n`);
    await writeFile(join(own, `entries${extension}`), lines.join(""));
    await compile(own, `entries${extension}`, module, resolution);
  }

  async function jest(file, source, node = process.execPath) {
    const own = await tools("jest", JEST, tarball);
    const settings = ["--testMatch", `**/${file}`];
    await writeFile(join(own, file), source);
    const main = "node_modules/jest/bin/jest.js";
    await run(node, ["--experimental-vm-modules", main, ...settings], { cwd: own, env });
  }

  async function vitest() {
    const own = await tools("vitest", VITEST, tarball);
    await writeFile(join(own, "program.test.mjs"), asTest(programText, 'import { test } from "vitest";'));
    await run("npx", ["vitest", "run"], { cwd: own, env });
  }

  async function bundle(bundler, file) {
    const own = await tools("bundlers", ...BUNDLERS, tarball);
    await writeFile(join(own, "entry.mjs"), programText);
    const out = join(folder, `bundled-${bundler}`);
    await run(process.execPath, ["bundlers.mjs", bundler, join(out, file)], { cwd: own });
    await runProgram(process.execPath, [join(out, file)], out);
  }

  async function checkPacked() {
    const installedAt = join(plain, "node_modules/tradewire");
    const entries = await readdir(installedAt, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installedAt.length + 1));
    assert.deepEqual(
      files.filter((file) => !PACKED.test(file)),
      [],
    );
    const { exports, bin } = JSON.parse(await readFile(join(installedAt, "package.json"), "utf8"));
    const targets = [
      ...Object.values(exports).flatMap((entry) => Object.values(typeof entry === "string" ? [entry] : (entry ?? {}))),
      ...Object.values(bin),
    ];
    for (const target of targets) {
      const [before, after = ""] = target.replace(/^\.\//, "").split("*");
      assert.ok(
        files.some((file) => file.startsWith(before) && file.endsWith(after)),
        `there is no ${target}`,
      );
    }
    const all = await readdir(join(plain, "node_modules"), { recursive: true, withFileTypes: true });
    const sizes = all
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size);
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    assert.ok(bytes < MAX_BYTES, `the installed packages have ${bytes} bytes`);
  }

  /** The program runs with the packages that the user has put in the place of others, and no other copy is there. */
  async function overridden() {
    const own = join(folder, "overrides");
    await installWith({ overrides: OVERRIDES }, own, tarball);
    await writeFile(join(own, "program.mjs"), programText);
    await runProgram(process.execPath, ["program.mjs"], own);
    const paths = await readdir(join(own, "node_modules"), { recursive: true });
    for (const [name, version] of Object.entries(OVERRIDES)) {
      const copies = paths.filter((path) => path === name || path.endsWith(`node_modules/${name}`));
      assert.deepEqual(copies, [name]);
      const manifest = JSON.parse(await readFile(join(own, "node_modules", name, "package.json"), "utf8"));
      assert.equal(manifest.version, version);
    }
  }

  /** A user's own Connect has the classes and types of the package's, and Protobuf is there once. */
  async function classes(name, version, ...lists) {
    const own = join(folder, name);
    for (const list of [...lists, TYPESCRIPT]) {
      await install(own, ...list);
    }
    const args = ["ls", "--all", "--parseable", "@connectrpc/connect", "@bufbuild/protobuf"];
    const copies = (await run("npm", args, { cwd: own })).trim().split("\n");
    assert.equal(copies.filter((path) => path.endsWith("@bufbuild/protobuf")).length, 1, copies.join("\n"));
    assert.equal(copies.filter((path) => path.endsWith("@connectrpc/connect")).length, version === "same" ? 1 : 2);
    for (const file of ["classes.mjs", "classes.mts"]) {
      await copyFile(new URL(file, import.meta.url), join(own, file));
    }
    for (const node of NODES) {
      await runProgram(await nodeOf(node), ["classes.mjs", version], own);
    }
    await compile(own, "classes.mts", "nodenext", "nodenext");
  }

  async function fromGit() {
    const clone = join(folder, "clone");
    await run("git", ["clone", "--quiet", "--depth", "1", `file://${root}`, clone], { cwd: folder });
    await install(join(folder, "git"), `git+file://${clone}`);
    await writeFile(join(folder, "git/program.mjs"), programText);
    await runProgram(process.execPath, ["program.mjs"], join(folder, "git"));
  }

  const peerCases = await createPeerCases({ root, folder, tarball, tools, nodeOf, run, env });
  const jestHead = 'const { test } = require("@jest/globals");';
  const imports = /^const ([^;]+?) = require\(("tradewire[^"]*")\);\n/gm;
  const imported = [...required.matchAll(imports)].map(([, names, name]) => `const ${names} = await import(${name});`);
  const importing = required
    .replaceAll(imports, "")
    .replace("async function main() {", (line) => `${line}\n${imported.join("\n")}`);
  return [
    ["packed files, exports and size", checkPacked],
    ["undici and ws overridden by the user", overridden],
    ["the user's own Connect, of the same version", () => classes("same", "same", [tarball, CONNECT[0]])],
    ["the user's own Connect, of another version", () => classes("other", "other", [CONNECT[1]], [tarball])],
    ...NODES.flatMap((version) => [
      [`Node ${version}, ES modules`, async () => runFile(await nodeOf(version), "program.mjs", programText)],
      [`Node ${version}, CommonJS by require`, async () => runFile(await nodeOf(version), "program.cjs", required)],
    ]),
    ["Bun", () => runtime("bun", ["run"])],
    ["Deno", () => runtime("deno", ["run", "--allow-all"])],
    ["TypeScript, nodenext", () => typescript("nodenext", "nodenext", ".mts")],
    ["TypeScript, bundler", () => typescript("esnext", "bundler", ".ts")],
    ["Jest, ES modules", () => jest("esm.test.mjs", asTest(programText, 'import { test } from "@jest/globals";'))],
    ["Jest, CommonJS by import()", () => jest("import.test.cjs", asTest(importing, jestHead))],
    [
      `Jest, CommonJS by require, Node ${NODES[2]}`,
      async () => jest("require.test.cjs", asTest(required, jestHead), await nodeOf(NODES[2])),
    ],
    ["Vitest", vitest],
    ["esbuild, ES modules", () => bundle("esbuild-esm", "main.mjs")],
    ["esbuild, CommonJS", () => bundle("esbuild-cjs", "main.cjs")],
    ["Rollup", () => bundle("rollup", "main.mjs")],
    ["Rolldown", () => bundle("rolldown", "main.mjs")],
    ["Vite, SSR", () => bundle("vite", "main.mjs")],
    ["webpack", () => bundle("webpack", "main.mjs")],
    [
      "publint",
      async () => {
        const own = await tools("publint", PUBLINT);
        await run("npx", ["publint", "--strict", join(plain, "node_modules/tradewire")], { cwd: own });
      },
    ],
    [
      "attw, ES modules",
      async () => {
        const own = await tools("attw", ATTW);
        await run("npx", ["attw", tarball, "--profile", "esm-only"], { cwd: own });
      },
    ],
    ["npm install git+file://", fromGit],
    ["two clones give one package", async () => buildTwice({ root, folder, run, otherPath: await pathOf(NODES[0]) })],
    ...peerCases,
  ];
}
