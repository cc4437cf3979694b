import { expect, it } from "@jest/globals";
import { rolldown } from "rolldown";

/** The modules of Node that an entry imports when it is loaded, and its size as one minified file, in bytes. */
async function bundled(entry: string) {
  const bundle = await rolldown({
    input: `dist/src/${entry}/index.js`,
    platform: "browser",
    external: /^node:/,
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  await bundle.close();
  const chunks = output.flatMap((one) => (one.type === "chunk" ? [one] : []));
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
    builtins: [...loaded].filter((name) => name.startsWith("node:")).toSorted(),
    bytes: files.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0),
  };
}

it.each([
  ["api", 500_000, []],
  ["csv", 30_000, ["node:buffer", "node:util"]],
])(
  "tradewire/%s is bundled for browsers, and imports no other modules of Node than these",
  async (entry, maxBytes, builtins) => {
    const found = await bundled(entry);
    process.stdout.write(`tradewire/${entry}: ${found.bytes} bytes\n`);
    expect(found.builtins).toEqual(builtins);
    expect(found.bytes).toBeLessThan(maxBytes);
  },
);
