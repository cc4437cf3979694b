// Packs the package, installs it into empty folders, and uses it as its users do: on every Node, with other runtimes, in
// TypeScript, in test runners and in bundlers. Prints what became of each case. It needs the network, for the tools, and
// `timeout`; nothing is left behind. Arguments: parts of the names of cases; all cases without any.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createCases } from "./cases.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** How long a command may take, in seconds: a program, and what builds or installs. */
const PROGRAM_SECONDS = 120;
const INSTALL_SECONDS = 600;
/** How long the local node may take until it answers, in milliseconds. */
const START_MS = 120_000;
/** How much is shown of what a failed command has printed, in characters. */
const SHOWN = 3000;

/** Run a command to its end, with all that it has started; what it prints. It fails also where it prints what `refuse` matches. */
async function run(command, args, { cwd, seconds = PROGRAM_SECONDS, env = {}, refuse }) {
  const child = spawn("timeout", ["--kill-after=5", String(seconds), command, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  if (code !== 0) {
    throw new Error(`${command} ended with ${code}\n${`${out}${err}`.trim().slice(-SHOWN)}`);
  }
  if (refuse?.test(`${out}${err}`)) {
    throw new Error(`${command} ended with 0, but printed\n${`${out}${err}`.trim().slice(-SHOWN)}`);
  }
  return out;
}

/** Install packages into a folder of their own. */
const install = (folder, ...packages) => installWith({}, folder, ...packages);

/** Install packages into a folder of their own, where package.json has further members. A package.json that is there is kept. */
async function installWith(members, folder, ...packages) {
  await mkdir(folder, { recursive: true });
  const manifest = join(folder, "package.json");
  if (!existsSync(manifest)) {
    await writeFile(manifest, JSON.stringify({ private: true, ...members }));
  }
  const args = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--loglevel=error", ...packages];
  await run("npm", args, { cwd: folder, seconds: INSTALL_SECONDS });
}

/** Start the packed command's local node, as a process of its own. */
async function startNode(folder) {
  const main = join(folder, "node_modules/tradewire/dist/src/cli/main.js");
  const args = [main, "devnode", "--json", "--grpc-port", "0", "--rest-port", "0"];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "close");
  const stop = () => {
    child.kill();
    return ended;
  };
  try {
    const lines = createInterface({ input: child.stdout });
    const [line] = await once(lines, "line", { signal: AbortSignal.timeout(START_MS) });
    const { grpcUrl, restUrl } = JSON.parse(line);
    return { env: { TRADEWIRE_GRPC_URL: grpcUrl, TRADEWIRE_REST_URL: restUrl }, stop };
  } catch (cause) {
    await stop();
    throw new Error("the local node did not start", { cause });
  }
}

const wanted = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "tradewire-package-"));
const results = [];
let node;
try {
  const packing = ["pack", "--ignore-scripts", "--pack-destination", folder];
  await run("npm", packing, { cwd: root, seconds: INSTALL_SECONDS });
  const { name, version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const tarball = join(folder, `${name}-${version}.tgz`);
  const plain = join(folder, "plain");
  await install(plain, tarball);
  node = await startNode(plain);
  const programText = await readFile(new URL("program.mjs", import.meta.url), "utf8");
  await mkdir(join(folder, "bundlers"));
  await copyFile(new URL("bundlers.mjs", import.meta.url), join(folder, "bundlers/bundlers.mjs"));
  const cases = await createCases({
    root,
    folder,
    tarball,
    plain,
    programText,
    install,
    installWith,
    run,
    env: node.env,
  });
  for (const [title, check] of cases.filter(
    ([title]) => wanted.length === 0 || wanted.some((part) => title.includes(part)),
  )) {
    const began = performance.now();
    const result = await check().then(
      (leftOut) => (leftOut === undefined ? { end: "ok" } : { end: "left out", why: leftOut }),
      (error) => ({ end: "failed", why: error.message }),
    );
    const seconds = Math.round((performance.now() - began) / 1000);
    results.push(result);
    console.log(`${title.padEnd(76)} | ${result.end.padEnd(8)} | ${`${seconds}`.padStart(3)} s | ${result.why ?? ""}`);
  }
} finally {
  await node?.stop();
  await rm(folder, { recursive: true, force: true });
}
const count = (end) => results.filter((result) => result.end === end).length;
console.log(`${count("ok")} ok, ${count("failed")} failed, ${count("left out")} left out`);
process.exitCode = count("failed") === 0 && results.length > 0 ? 0 : 1;
