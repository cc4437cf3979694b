// Runs the contract's cases in Bun and in Deno, and compares what becomes of each, over each transport, with what becomes of it in
// Node. Differences that are known are listed in known.mjs; others are failures. The servers of the cases run in the same runtime.
// Arguments: names of runtimes; both without any.
import { execFile, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { known } from "./known.mjs";

const VERSIONS = { bun: "1.4.5", deno: "2.9.6" };
/** How the runtimes run a file; Deno's package brings the program by a script that npm may not run. */
const ARGUMENTS = { bun: ["run"], deno: ["run", "--allow-all"] };
const RUN_MS = 300_000;

const root = fileURLToPath(new URL("../../../", import.meta.url));
const cache = join(root, "node_modules/.cache/runtimes");
/** Within the package, so that it finds itself by its name. */
const program = join(root, "out/runtimes/contract.mjs");

/** Joins the cases into one file of JavaScript that every runtime executes. */
async function joinCases() {
  const jest = "export const expect = { getState: () => ({}) };";
  const bundle = await rolldown({
    input: join(root, "test/external/runtimes/contract.ts"),
    platform: "node",
    external: (id) => !/^[./]|^@jest\/|^@oxc-project\/|^\0/.test(id),
    transform: { target: "es2022" }, // Without `using`, which Node 20 does not know.
    plugins: [
      {
        name: "jest",
        resolveId: (id) => (id === "@jest/globals" ? "\0jest" : undefined),
        load: (id) => (id === "\0jest" ? jest : undefined),
      },
    ],
  });
  await bundle.write({ file: program });
}

/** Installs a runtime from npm; undefined if there is none for this machine. */
async function install(name) {
  const folder = join(cache, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), "{}");
  const run = (...args) => promisify(execFile)(args[0], args.slice(1), { cwd: folder });
  try {
    await run("npm", "install", "--no-audit", "--no-fund", `${name}@${VERSIONS[name]}`);
    if (name === "deno") {
      await run(process.execPath, "node_modules/deno/install.cjs");
    }
    const command = join(folder, "node_modules/.bin", name);
    await run(command, "--version");
    return command;
  } catch {
    return undefined;
  }
}

/** What became of each case, by transport and name. */
async function outcomes(command, args) {
  const child = spawn(command, [...args, program], { cwd: root, stdio: ["ignore", "pipe", "ignore"], timeout: RUN_MS });
  const lines = (await text(child.stdout)).trim().split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

await joinCases();
const expected = await outcomes(process.execPath, []);
if (expected.length === 0) {
  throw new Error("Node ran no case");
}
console.log(`Node ${process.versions.node}: ${expected.length} outcomes`);
const wanted = process.argv.slice(2);
for (const name of Object.keys(VERSIONS).filter((one) => wanted.length === 0 || wanted.includes(one))) {
  const command = await install(name);
  if (command === undefined) {
    console.log(`${name} ${VERSIONS[name]} is left out: npm has none for this machine`);
    continue;
  }
  const found = new Map(
    (await outcomes(command, ARGUMENTS[name])).map((one) => [`${one.transport}: ${one.name}`, one.found]),
  );
  const differences = expected.filter((one) => found.get(`${one.transport}: ${one.name}`) !== one.found);
  const transports = [...new Set(expected.map(({ transport }) => transport))];
  for (const transport of transports) {
    const of = (list) => list.filter((one) => one.transport === transport).length;
    console.log(
      `${name} ${VERSIONS[name]}, ${transport}: ${of(expected) - of(differences)} of ${of(expected)} as in Node`,
    );
  }
  const unknown = differences.filter((one) => !known[name].includes(one.name));
  for (const { transport, name: title, found: inNode } of unknown) {
    console.log(
      `  differs, ${transport}: ${title}\n    Node: ${inNode}\n    ${name}: ${found.get(`${transport}: ${title}`)}`,
    );
  }
  const gone = known[name].filter((title) => !differences.some((one) => one.name === title));
  if (gone.length > 0) {
    console.log(`  no longer differs: ${gone.join("; ")}`);
  }
  if (unknown.length > 0) {
    process.exitCode = 1;
  }
}
