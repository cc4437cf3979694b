// Cases of run.mjs: each command of the docs that installs optional peers is run before and after the package itself is
// installed, from the registry, by the npm of each Node.
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Each Node, and the npm that comes with it (for Node 22, the newest of its line). */
export const NPMS = { "20.19.0": "10.8.2", "22.23.3": "10.9.9", "24.9.0": "11.6.0" };
const INSTALL_SECONDS = 600;
/** What npm prints, with exit code 0 too, where versions do not fit together. */
const MISFIT = /ERESOLVE|EBADENGINE|ETARGET/;
/** The last release before the DuckDB that is needed. */
const OLD_DUCKDB = "@duckdb/node-api@1.4.5-r.1";

/** The packages of each command that installs optional peers, as README, docs and examples print it. */
async function printedCommands(root, peers) {
  const pages = (await readdir(join(root, "docs"))).filter((file) => file.endsWith(".md"));
  const files = ["README.md", "examples/sync-docker/Dockerfile", ...pages.map((page) => `docs/${page}`)];
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), "utf8")));
  const commands = texts.flatMap((text) => [...text.matchAll(/npm install ([^`\n#&|\\]+)/g)].map(([, rest]) => rest));
  const lists = commands.map((rest) =>
    rest
      .trim()
      .split(/\s+/)
      .filter((word) => !word.startsWith("-")),
  );
  const ours = lists.filter((list) => list.some((spec) => peers.includes(nameOf(spec))));
  return [...new Set(ours.map((list) => list.join(" ")))].map((line) => line.split(" "));
}

/** A package's name without its version: `@duckdb/node-api@1` is `@duckdb/node-api`. */
const nameOf = (spec) => spec.replace(/(?<=.)@.*$/, "");
/** The package itself, whose place the packed file takes: `tradewire`, or the Dockerfile's `./tradewire-*.tgz`. */
const isOurs = (spec) => /^(\.\/)?tradewire\b/.test(spec);

/** Put the cases of the optional peers together. */
export async function createPeerCases({ root, folder, tarball, tools, nodeOf, run, env }) {
  const { peerDependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const peers = Object.keys(peerDependencies);
  const commands = await printedCommands(root, peers);

  /** Run each list of packages as an installation of its own, one after the other, in an empty folder; use what is there. */
  async function installInTurn(version, lists, use) {
    const node = await nodeOf(version);
    const npm = NPMS[version];
    const main = join(await tools(`npm-${npm}`, `npm@${npm}`), "node_modules/npm/bin/npm-cli.js");
    const own = join(folder, "peers");
    const runNpm = (...args) => run(node, [main, ...args], { cwd: own, seconds: INSTALL_SECONDS, refuse: MISFIT });
    await mkdir(own);
    try {
      await writeFile(join(own, "package.json"), '{ "private": true }\n');
      for (const list of lists) {
        const specs = list.map((spec) => (isOurs(spec) ? tarball : spec));
        await runNpm("install", "--no-audit", "--no-fund", "--loglevel=warn", ...specs);
      }
      await runNpm("ls", ...lists.flat().map((spec) => (isOurs(spec) ? "tradewire" : nameOf(spec))));
      await use(node, own, lists.flat());
    } finally {
      await rm(own, { recursive: true });
    }
  }

  const tradewire = "node_modules/tradewire/dist/src/cli/main.js";
  const sync = ["sync", "--to", "duckdb:history.duckdb", "--table", "trades", "--to-block", "1000"];

  /** Load each package from where the package itself loads it, and DuckDB by a sync. */
  async function useAll(node, own, specs) {
    const names = [...new Set(["tradewire", ...specs.filter((spec) => !isOurs(spec)).map(nameOf)])];
    await writeFile(join(own, "load.mjs"), names.map((name) => `await import("${name}");\n`).join(""));
    await run(node, ["load.mjs"], { cwd: own });
    if (names.includes("@duckdb/node-api")) {
      await run(node, [tradewire, ...sync], { cwd: own, env });
    }
  }

  /** Nothing keeps npm from installing an old DuckDB beside the package, so that the sync itself refuses it. */
  const refuseOld = (version) =>
    installInTurn(version, [["tradewire"], [OLD_DUCKDB]], (node, own) =>
      assert.rejects(
        run(node, [tradewire, ...sync], { cwd: own, env }),
        /DuckDB v1\.4\.\d+, but 1\.5 or later is needed/,
      ),
    );

  const versions = Object.keys(NPMS);
  const title = (version, packages, order) =>
    `npm ${NPMS[version]} of Node ${version}: ${packages.join(" ")}, ${order}`;
  return [
    [
      "docs: each optional peer has a command",
      async () =>
        assert.deepEqual(
          peers.filter((peer) => !commands.flat().map(nameOf).includes(peer)),
          [],
        ),
    ],
    ...versions.flatMap((version) =>
      commands.flatMap((command) =>
        command.some(isOurs)
          ? [
              [
                title(
                  version,
                  command.filter((spec) => !isOurs(spec)),
                  "at once",
                ),
                () => installInTurn(version, [command], useAll),
              ],
            ]
          : [
              [title(version, command, "after"), () => installInTurn(version, [["tradewire"], command], useAll)],
              [title(version, command, "before"), () => installInTurn(version, [command, ["tradewire"]], useAll)],
            ],
      ),
    ),
    [title(versions[0], [OLD_DUCKDB], "refused"), () => refuseOld(versions[0])],
  ];
}
