import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";

/** A file to write into an archive. */
export interface WrittenFile {
  readonly name: string;
  /**
   * Called when the file's turn comes. Its bytes are read only as fast as the archive is taken.
   *
   * @returns the file's bytes, split anywhere
   */
  content(): AsyncIterable<Uint8Array>;
}

// DOS times have no zone and yazl writes them in the local one, so this time is local too.
const entryOptions = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true };

/**
 * Write an archive the way a deployed node does: deflated, sizes in data descriptors, no comment, ZIP64 where sizes
 * need it. The same files make the same bytes. When the caller stops early, the reading of the files ends.
 *
 * @param files the files, in the order in which they are to stand in the archive
 * @returns the archive's bytes, split anywhere; an error of a file's content is thrown unchanged
 */
export async function* writeArchiveFiles(files: Iterable<WrittenFile>): AsyncGenerator<Uint8Array, void, undefined> {
  const { ZipFile } = await import("yazl");
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
      await once(source, "close");
    }
  }
}
