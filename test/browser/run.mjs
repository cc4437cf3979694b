// Runs the programs of programs/ in a page of Chromium, and compares what they return with what they return in Node. Chromium is the
// one that CHROMIUM_PATH names, that is installed, or that npm has as a package for Linux; without any, a line says so.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isDeepStrictEqual, promisify } from "node:util";
import { chromium } from "playwright-core";
import { tsImport } from "tsx/esm/api";
import { bundleProgram, createInput, entries, runHere } from "./programs.mjs";

/** Of the package with Chromium: the last one for Node 20. */
const VERSION = "147.0.0";
const RUN_MS = 120_000;

const cache = fileURLToPath(new URL("../../node_modules/.cache/browser/", import.meta.url));

/** Installs the package with Chromium into the cache. Returns the path of the program; undefined if there is none for this machine. */
async function installChromium() {
  if (process.platform !== "linux") {
    return undefined;
  }
  await mkdir(cache, { recursive: true });
  await writeFile(join(cache, "package.json"), "{}");
  try {
    const args = ["install", "--no-audit", "--no-fund", `@sparticuz/chromium@${VERSION}`];
    await promisify(execFile)("npm", args, { cwd: cache });
    process.env.TMPDIR = cache; // The package unpacks Chromium there.
    const entry = createRequire(join(cache, "package.json")).resolve("@sparticuz/chromium");
    const { default: found } = await import(pathToFileURL(entry).href);
    return await found.executablePath();
  } catch {
    return undefined;
  }
}

async function launch() {
  const { findChromium } = await tsImport("../support/chromium.ts", import.meta.url);
  const executablePath = findChromium() ?? (await installChromium());
  if (executablePath === undefined) {
    return undefined;
  }
  return chromium.launch({ executablePath, args: ["--no-sandbox"] }).catch(({ message }) => {
    console.error(message);
    return undefined;
  });
}

const browser = await launch();
if (browser === undefined) {
  console.log("left out: no Chromium starts here; install it (apt-get install chromium), or set CHROMIUM_PATH to one");
  process.exit();
}
const codes = Object.fromEntries(
  await Promise.all(entries.map(async (name) => [`/${name}.js`, await bundleProgram(name)])),
);
const server = createServer(({ url }, response) => {
  const code = codes[url];
  response.setHeader("content-type", code === undefined ? "text/html" : "text/javascript");
  response.end(code ?? "<!doctype html><title>tradewire</title>");
}).listen(0, "127.0.0.1");
await once(server, "listening");
try {
  console.log(`Chromium ${browser.version()}, Node ${process.version}`);
  const input = await createInput();
  const page = await browser.newPage();
  page.setDefaultTimeout(RUN_MS);
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  for (const name of entries) {
    const run = async ([path, given]) => {
      const { default: program } = await import(path);
      return JSON.parse(JSON.stringify(await program(given)));
    };
    const started = performance.now();
    const there = await page.evaluate(run, [`/${name}.js`, input]).catch(({ message }) => message);
    const ms = Math.round(performance.now() - started);
    const isSame = isDeepStrictEqual(there, await runHere(name, input));
    const size = `${Math.round(Buffer.byteLength(codes[`/${name}.js`]) / 1000)} kB`;
    console.log(
      `tradewire/${name}: ${isSame ? "as in Node" : "NOT as in Node"}, in ${ms} ms; with all that it may load late, the program has ${size}`,
    );
    if (!isSame) {
      console.log(JSON.stringify(there)?.slice(0, 2000));
      process.exitCode = 1;
    }
    if (there.recorded !== undefined && there.recorded !== input.recordedHash) {
      console.log(
        `the hash of the recorded transaction is ${there.recorded}, not the network's, ${input.recordedHash}`,
      );
      process.exitCode = 1;
    }
  }
} finally {
  await browser.close();
  server.close();
}
