// Recorded requests and answers, in the format of recorded/README.md.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Make a recording.
 *
 * @param folder where the files go; nothing is written without one
 * @param chainId the chain that answered
 * @returns `keep(file, case)` keeps a case for `FILE.json`, `write()` writes the files, one case a line
 */
export function createRecording(folder, chainId) {
  const files = new Map();
  return {
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
        const text = `{"source":"v0.78.0","chainId":${JSON.stringify(chainId)},"cases":[\n${lines.join(",\n")}\n]}\n`;
        await writeFile(join(folder, `${name}.json`), text);
      }
    },
  };
}
