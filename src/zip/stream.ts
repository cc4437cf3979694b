import { corrupt, nameText, truncated } from "./archive-error.js";
import { type ByteReader, createByteReader } from "./byte-reader.js";
import { checkMeasures, type Growth, readContent } from "./content.js";
import { checkListing, readDirectory } from "./directory.js";
import { checkEnd, createArchiveEnd } from "./end.js";
import { checkContiguous, checkHeader, type Entry, type Reading } from "./entry.js";
import { type LocalHeader, type Measures, readLocalHeader } from "./records.js";
import { CENTRAL_HEADER, END_RECORD, LOCAL_HEADER } from "./signatures.js";

/** How many bytes of a stream are read on after a mistake in it. */
const MAX_DRAINED = 1024 * 1024;

/**
 * Read the files of an archive as it arrives. The directory, which comes last, is compared with them, and the archive
 * must end with it.
 *
 * @param source the archive's bytes, split anywhere; its errors are thrown unchanged
 * @param reading limits and a signal
 * @returns the files, in the order in which they arrive
 * @throws {@link ProtocolError} where the archive is corrupt, truncated, refused or over a limit
 * @throws {@link CanceledError} where the signal was aborted
 */
export async function* streamedEntries(
  source: AsyncIterable<Uint8Array>,
  { limits, isAssembled = false, ...options }: Reading,
): AsyncGenerator<Entry, void, undefined> {
  const reader = createByteReader(isAssembled ? source : ending(source), options);
  const growth: Growth = { size: 0 };
  const seen: { header: LocalHeader; measured: Measures }[] = [];
  const names = new Set<string>();
  let nameSize = 0;
  try {
    while (await isSignature(reader, LOCAL_HEADER)) {
      const header = await readLocalHeader(reader);
      if (names.has(header.name)) {
        throw corrupt(`it holds ${nameText(header.name)} twice`);
      }
      names.add(header.name);
      nameSize += header.rawName.length;
      checkListing(names.size, nameSize);
      let measured: Measures | undefined;
      yield {
        name: header.name,
        get measures() {
          return measured;
        },
        content: () =>
          readContent(reader, header, {
            limits,
            growth,
            onMeasured: (found) => {
              measured = found;
            },
            onFailure: () => drain(reader),
          }),
      };
      if (measured === undefined) {
        throw new Error("the next entry was asked for before this one was read");
      }
      seen.push({ header, measured });
    }
    await checkRest(reader, seen);
  } finally {
    await reader.close();
  }
}

async function checkRest(
  reader: ByteReader,
  seen: readonly { readonly header: LocalHeader; readonly measured: Measures }[],
): Promise<void> {
  const start = reader.position;
  if (!(await isSignature(reader, CENTRAL_HEADER)) && !(seen.length === 0 && (await isSignature(reader, END_RECORD)))) {
    throw corrupt(`at byte ${start} neither a file nor the directory begins`);
  }
  const rest = await readRest(reader);
  const directory = await readDirectory({
    size: start + rest.length,
    read: async (position, length) => {
      // yauzl looks for the end record from behind, over the longest comment. Bytes that have passed are given to it as
      // zeros.
      const before = Math.min(Math.max(start - position, 0), length);
      const from = position + before - start;
      if (from + length - before > rest.length) {
        throw new Error("its end record does not fit its directory");
      }
      return Buffer.concat([Buffer.alloc(before), rest.subarray(from, from + length - before)]);
    },
  });
  if (directory.start !== start) {
    throw corrupt(`its directory begins at byte ${start}, but its end record says ${directory.start}`);
  }
  if (directory.entries.length !== seen.length) {
    throw corrupt(`it holds ${seen.length} files, but its directory lists ${directory.entries.length}`);
  }
  for (const [index, { header, measured }] of seen.entries()) {
    const listed = directory.entries[index];
    if (listed !== undefined) {
      checkContiguous(listed.offset, header.offset);
      checkHeader(header, listed);
      checkMeasures(header.name, measured, listed);
    }
  }
}

async function readRest(reader: ByteReader): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for (let bytes = await reader.next(); bytes !== undefined; bytes = await reader.next()) {
    pieces.push(Buffer.from(bytes));
    size += bytes.length;
    checkListing(0, size);
  }
  return Buffer.concat(pieces);
}

/** The bytes after a mistake may explain it better: the source may fail with an error of its own. */
async function drain(reader: ByteReader): Promise<void> {
  for (let left = MAX_DRAINED; left > 0; ) {
    const bytes = await reader.next();
    if (bytes === undefined) {
      return;
    }
    left -= bytes.length;
  }
}

/** The bytes of a stream that belong to its archive. The stream's end is checked. */
async function* ending(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const end = createArchiveEnd();
  for await (const bytes of source) {
    yield end.push(bytes);
  }
  checkEnd(end);
}

async function isSignature(reader: ByteReader, signature: number): Promise<boolean> {
  const view = await reader.peek(4);
  if (view.length < 4) {
    throw truncated(reader.position + view.length);
  }
  return view.readUInt32LE(0) === signature;
}
