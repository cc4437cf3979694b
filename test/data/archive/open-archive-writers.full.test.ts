import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ProtocolError } from "tradewire";
import { archiveOutcome, streamOf } from "../../support/archive-outcome.js";
import { zipOf } from "../../support/archives.js";
import { type RawEntry, rawZip } from "../../support/raw-zip.js";

const A = "chain-1-trades-1-1-1000.csv";
const B = "chain-1-trades-2-1001-2000.csv";
const contents: Readonly<Record<string, string>> = {
  [A]: 'id,note\n1,\n2,""\n3,"x,""y""\nz"\n',
  [B]: `id,note,more\n${Array.from({ length: 400 }, (_, n) => `${n},note ${n},\n`).join("")}`,
};
const files = [
  {
    name: A,
    columns: ["id", "note"],
    rows: [
      ["1", null],
      ["2", ""],
      ["3", 'x,"y"\nz'],
    ],
  },
  {
    name: B,
    columns: ["id", "note", "more"],
    rows: Array.from({ length: 400 }, (_, n) => [String(n), `note ${n}`, null]),
  },
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-archive-"));
  for (const [name, content] of Object.entries(contents)) {
    writeFileSync(join(folder, name), content);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** An archive that another program writes; `undefined` where the machine does not have it. */
function madeBy(command: string, ...options: readonly string[]): Buffer | undefined {
  rmSync(join(folder, "out.zip"), { force: true });
  const { status, stdout } = spawnSync(command, options, { cwd: folder, maxBuffer: 2 ** 24 });
  if (status !== 0) {
    return undefined;
  }
  return stdout.length > 0 ? stdout : readFileSync(join(folder, "out.zip"));
}

const python = (to: string, method: string) =>
  `import sys, zipfile
class Pipe:
    def write(self, data): return sys.stdout.buffer.write(data)
    def flush(self): pass
with zipfile.ZipFile(${to}, "w", zipfile.${method}) as z:
    for name in ["${A}", "${B}"]:
        with z.open(name, "w", force_zip64=True) as f: f.write(open(name, "rb").read())`;
const raw = (more: Partial<RawEntry>) =>
  rawZip(Object.entries(contents).map(([name, content]) => ({ name, content, ...more })));
const buffers = Object.fromEntries(Object.entries(contents).map(([name, content]) => [name, Buffer.from(content)]));

const makers: Readonly<Record<string, () => Buffer | undefined | Promise<Buffer>>> = {
  "python3 -m zipfile": () => madeBy("python3", "-m", "zipfile", "-c", "out.zip", A, B),
  "python3, ZIP64": () => madeBy("python3", "-c", python('"out.zip"', "ZIP_DEFLATED")),
  "python3, ZIP64 into a pipe": () => madeBy("python3", "-c", python("Pipe()", "ZIP_DEFLATED")),
  "python3, ZIP64 into a pipe, stored": () => madeBy("python3", "-c", python("Pipe()", "ZIP_STORED")),
  "Info-ZIP": () => madeBy("zip", "-q", "out.zip", A, B),
  "Info-ZIP, stored": () => madeBy("zip", "-q", "-0", "out.zip", A, B),
  "Info-ZIP into a pipe": () => madeBy("sh", "-c", `zip -q - ${A} ${B} | cat`),
  "Info-ZIP into a pipe, stored": () => madeBy("sh", "-c", `zip -q -0 - ${A} ${B} | cat`),
  bsdtar: () => madeBy("bsdtar", "-a", "-cf", "out.zip", A, B),
  "a streaming writer": () => zipOf(buffers, { streamed: true }),
  "a streaming writer, ZIP64": () => zipOf(buffers, { streamed: true, forceZip64: true }),
  "a streaming writer, stored": () => zipOf(buffers, { streamed: true, stored: true }),
  "a writer that knows sizes, with a comment": () => zipOf(buffers, { comment: "PK, a comment" }),
  "descriptors of 12 bytes": () => raw({ descriptor: { signed: false, wide: false } }),
  "descriptors of 20 bytes": () => raw({ descriptor: { signed: false, wide: true } }),
  "descriptors of 24 bytes": () => raw({ descriptor: { signed: true, wide: true } }),
  "descriptors of 12 bytes, stored": () => raw({ stored: true, descriptor: { signed: false, wide: false } }),
  "descriptors of 20 bytes, stored": () => raw({ stored: true, descriptor: { signed: false, wide: true } }),
};

describe("openArchive", () => {
  it.each(Object.entries(makers))("reads what is made by %s", async (_, make) => {
    const archive = await make();
    if (archive === undefined) {
      return; // This machine does not have that program.
    }
    const path = join(folder, "read.zip");
    writeFileSync(path, archive);
    const sources = [path, archive, Readable.from([archive]), ...[1, 13, 4096].map((size) => streamOf(archive, size))];
    for (const source of sources) {
      expect(await archiveOutcome(source)).toEqual({ files, error: undefined });
    }
  });

  it("refuses an archive that is cut anywhere", async () => {
    for (const archive of [raw({}), await zipOf(buffers, { streamed: true })]) {
      const step = Math.max(1, Math.floor(archive.length / 300));
      for (let size = 0; size < archive.length; size += step) {
        const cut = archive.subarray(0, size);
        for (const source of [cut, streamOf(cut, 100)]) {
          expect((await archiveOutcome(source)).error).toBeInstanceOf(ProtocolError);
        }
      }
    }
  });
});
