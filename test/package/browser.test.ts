import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { rolldown } from "rolldown";
import { bundleProgram, createInput, entries, runHere } from "../browser/programs.mjs";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-browser-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** The built-in modules of Node that the files of an entry import, and the size of the files that it loads, minified, in bytes. */
async function bundled(entry: string) {
  const builtins: string[] = [];
  const bundle = await rolldown({
    input: `dist/src/${entry}/index.js`,
    platform: "browser",
    external: /^node:/,
    onLog: (_level, { code, message }) => {
      if (code === "UNRESOLVED_IMPORT") builtins.push(message);
    },
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  await bundle.close();
  const chunks = output.flatMap((one) => (one.type === "chunk" ? [one] : []));
  builtins.push(...chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]));
  const loaded = new Set<string>();
  const load = (name: string): void => {
    const chunk = chunks.find(({ fileName }) => fileName === name);
    if (!loaded.has(name)) {
      loaded.add(name);
      for (const imported of chunk?.imports ?? []) {
        load(imported);
      }
    }
  };
  for (const { fileName } of chunks.filter(({ isEntry }) => isEntry)) {
    load(fileName);
  }
  const files = chunks.filter(({ fileName }) => loaded.has(fileName));
  return {
    builtins: builtins.filter((name) => !chunks.some(({ fileName }) => fileName === name)),
    bytes: files.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0),
  };
}

it.each([
  ["api", 500_000],
  ["csv", 30_000],
  ["archive", 300_000],
  ["transaction", 600_000],
])("tradewire/%s is bundled for browsers without modules of Node", async (entry, maxBytes) => {
  const found = await bundled(entry);
  process.stdout.write(`tradewire/${entry}: ${found.bytes} bytes\n`);
  expect(found.builtins).toEqual([]);
  expect(found.bytes).toBeLessThan(maxBytes);
});

// npm run test:browser runs the same programs in Chromium.
it.each(entries)("tradewire/%s does without Node's globals what it does in Node", async (entry) => {
  const program = join(folder, `${entry}.mjs`);
  const given = join(folder, `${entry}.input.json`);
  const result = join(folder, `${entry}.json`);
  const input = await createInput();
  await Promise.all([writeFile(program, await bundleProgram(entry)), writeFile(given, JSON.stringify(input))]);
  const bare = fileURLToPath(new URL("../browser/bare.mjs", import.meta.url));
  await promisify(execFile)(process.execPath, [bare, program, given, result]);
  expect(JSON.parse(await readFile(result, "utf8"))).toEqual(await runHere(entry, input));
});
