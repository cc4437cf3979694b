// Starts Chromium: the one that CHROMIUM_PATH names, that is installed, or that npm has as a package for Linux.
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { tsImport } from "tsx/esm/api";

/** Of the package with Chromium: the last one for Node 20. */
const VERSION = "147.0.0";

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

/** Starts Chromium. Without any, a line says so, and the process ends. */
export async function launchChromium() {
  const { findChromium } = await tsImport("./chromium.ts", import.meta.url);
  const executablePath = findChromium() ?? (await installChromium());
  const browser =
    executablePath === undefined
      ? undefined
      : await chromium.launch({ executablePath, args: ["--no-sandbox"] }).catch(({ message }) => {
          console.error(message);
        });
  if (browser === undefined) {
    console.log(
      "left out: no Chromium starts here; install it (apt-get install chromium), or set CHROMIUM_PATH to one",
    );
    process.exit();
  }
  return browser;
}
