import { PassThrough, Readable } from "node:stream";
import { lazily } from "../../base/input/lazy.js";

/** A file to add to an archive. */
export interface WrittenFile {
  readonly name: string;
  /** Returns the content. Called when the file is next; the bytes are read only as fast as the archive is consumed. */
  content(): AsyncIterable<Uint8Array>;
}

/** Loads what writes archives. */
export const loadYazl = lazily(() => import("yazl"));

// DOS times have no time zone and yazl writes local time, so this time is local too.
const entryOptions = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true };

/**
 * Writes an archive as deployed nodes do: deflated, sizes in data descriptors, no comment, ZIP64 only for sizes that need
 * it. The same files result in the same bytes. When the caller stops early, the files are closed.
 */
export async function* writeArchiveFiles(files: Iterable<WrittenFile>): AsyncGenerator<Uint8Array, void, undefined> {
  const { ZipFile } = await loadYazl();
  const zip = new ZipFile();
  const output = new PassThrough();
  zip.outputStream.pipe(output);
  let source: Readable | undefined;
  for (const file of files) {
    zip.addReadStreamLazy(file.name, entryOptions, (callback) => {
      source = Readable.from(file.content());
      source.on("error", (error) => output.destroy(error));
      callback(null, source);
    });
  }
  zip.end();
  try {
    yield* output;
  } finally {
    output.destroy();
    source?.destroy();
    if (source?.closed === false) {
      await process.getBuiltinModule("node:events").once(source, "close");
    }
  }
}
