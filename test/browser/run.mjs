// Runs the programs of programs/ in a page of Chromium, and compares what they return with what they return in Node. Chromium is the
// one that CHROMIUM_PATH names, that is installed, or that npm has as a package for Linux; without any, a line says so.
import { once } from "node:events";
import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { launchChromium } from "../support/launch-chromium.mjs";
import { bundleProgram, createInput, entries, runHere } from "./programs.mjs";

const RUN_MS = 120_000;

const browser = await launchChromium();
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
