// Compiles nonce-search.ts to WebAssembly and wraps it in a TypeScript module: a module, unlike a file, is found from the
// sources, from dist and from inside a bundle alike. It is committed so that the sources run, and are type-checked, before
// anything was built; `npm run check:generated` makes sure that it is what these sources give.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";

const [out = "gen"] = process.argv.slice(2);

let wasm = new Uint8Array();
const baseDir = fileURLToPath(new URL(".", import.meta.url));
const { error, stderr } = await asc.main(
  [
    ["nonce-search.ts", "--outFile", "nonce-search.wasm", "--baseDir", baseDir],
    ["-O3", "--enable", "simd", "--runtime", "stub"],
  ].flat(),
  {
    writeFile(_name, contents) {
      wasm = contents;
    },
  },
);
process.stderr.write(stderr.toString());
if (error !== null) throw error;

const base64 = Buffer.from(wasm).toString("base64");
const file = `${out}/wasm/nonce-search.ts`;
await mkdir(dirname(file), { recursive: true });
await writeFile(
  file,
  `// Compiled from src/trade/transaction/assembly/nonce-search.ts by compile.mjs beside it. Never edited.

/** The WebAssembly module, in base64. */
export const nonceSearch =
  "${base64}";
`,
);
