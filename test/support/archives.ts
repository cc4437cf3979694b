import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { ZipFile } from "yazl";

/** Make bytes that deflate cannot compress. */
export function noise(size: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(size);
  let state = seed;
  for (let at = 0; at < size; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

interface ZipOptions {
  readonly forceZip64?: boolean;
  /** Whether sizes and CRC are in data descriptors behind the data. */
  readonly streamed?: boolean;
  readonly stored?: boolean;
  readonly comment?: string;
}

/** Write a ZIP archive with yazl. */
export async function zipOf(files: Readonly<Record<string, Uint8Array>>, options: ZipOptions = {}): Promise<Buffer> {
  const zip = new ZipFile();
  const { forceZip64 = false, streamed = false, stored = false, comment = "" } = options;
  for (const [name, content] of Object.entries(files)) {
    const entry = { forceZip64Format: forceZip64, compress: !stored, mtime: new Date(1980, 0, 1) };
    if (streamed) {
      const stream = new PassThrough();
      stream.end(content);
      zip.addReadStream(stream, name, entry);
    } else {
      zip.addBuffer(Buffer.from(content), name, entry);
    }
  }
  zip.end({ forceZip64Format: forceZip64, comment });
  return buffer(zip.outputStream);
}

/** Write an archive with one CSV file of random text. */
export function csvZip(size = 1000, name = "chain-1-trades-1-3000.csv"): Promise<Buffer> {
  const text = noise(size).toString("base64url");
  const lines = text.match(/.{1,100}/g) ?? [];
  return zipOf({ [name]: Buffer.from(`a,b\n${lines.map((line) => `${line},\n`).join("")}`) }, { streamed: true });
}

/** Make an archive with another program, which writes it to its standard output or to `out.zip`. */
export function zipFrom(command: string, ...options: readonly string[]): Buffer | undefined {
  const folder = mkdtempSync(join(tmpdir(), "tradewire-zip-"));
  try {
    writeFileSync(join(folder, "a.csv"), noise(3000));
    writeFileSync(join(folder, "b.csv"), "x,y\n1,2\n".repeat(500));
    const { status, stdout } = spawnSync(command, options, { cwd: folder, input: noise(5000), maxBuffer: 2 ** 24 });
    if (status !== 0) {
      return undefined;
    }
    return stdout.length > 0 ? stdout : readFileSync(join(folder, "out.zip"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Cut bytes at the given places. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places)].filter((at) => at > 0 && at < bytes.length).sort((a, b) => a - b);
  return [0, ...sorted].map((from, index) => bytes.subarray(from, sorted[index] ?? bytes.length));
}

/** Cut bytes into pieces of one size. */
export function cutEvery(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}
