// Recorded requests and answers, in the format of recorded/README.md.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Make a recording. */
export function createRecording(folder, chainId) {
  const files = new Map();
  const facts = new Map();
  return {
    /** Keep facts that all cases of a file share, such as the market. */
    describe(file, more) {
      facts.set(file, { ...facts.get(file), ...more });
    },
    keep(file, one) {
      files.set(file, [...(files.get(file) ?? []), one]);
    },
    async write() {
      if (folder === undefined) {
        return;
      }
      await mkdir(folder, { recursive: true });
      for (const [name, cases] of files) {
        const lines = cases.map((one) =>
          JSON.stringify(one, (_, value) => (typeof value === "bigint" ? String(value) : value)),
        );
        const head = JSON.stringify({ source: "v0.78.0", chainId, ...facts.get(name) }).slice(0, -1);
        const text = `${head},"cases":[\n${lines.join(",\n")}\n]}\n`;
        await writeFile(join(folder, `${name}.json`), text);
      }
    },
  };
}
