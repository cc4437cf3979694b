import { ProtocolError, RequestError } from "../../base/errors/index.js";
import { readTarget, type SaveTarget } from "../../base/file/save-target.js";
import { assertArray, assertKnownKeys, assertOneOf, assertText } from "../../base/input/assert.js";
import { snapshot } from "../../base/input/snapshot.js";
import { type Profile, profileRules, profiles } from "../../base/profile.js";
import { createRowBuffer } from "../csv/csv-parser.js";
import { decodeCsv } from "../csv/decode-csv.js";
import { inMemory, type OpenFile, openFile } from "../zip/archive-source.js";
import { writeArchiveFiles } from "../zip/write-zip.js";
import type { Entry } from "../zip/zip-entries.js";
import { corrupt, nameText } from "../zip/zip-format.js";
import { csvHeads } from "./archive-files.js";
import { archiveEntries, UNLIMITED } from "./export-entries.js";
import { archiveName, csvName, type ExportName } from "./export-names.js";
import { openArchive } from "./open-archive.js";
import { type SavedArchive, saveArchive } from "./save-archive.js";

interface ReadOptions {
  readonly maxRowBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface MergeOptions extends ReadOptions {
  readonly force?: boolean | undefined;
  readonly profile?: Profile | undefined;
}

interface Group {
  readonly parts: Part[];
  schemaVersion: bigint | undefined;
}

/** Maximum size of a header row. */
const MAX_HEADER_BYTES = 64 * 1024 * 1024;

/**
 * Merges archives of adjacent ranges into one of the same form: one CSV file for each schema version, with one header row, and
 * names of the merged range. Rows are checked and copied byte for byte.
 *
 * Files without a schema version in their names have the same version if their header rows are equal: a schema change
 * adds, removes or renames a column. With the profile `specification`, names contain a version only if the merged range
 * crosses such a change. With the profile `deployed`, every CSV file whose version is known has it in its name, and numbers
 * are padded.
 *
 * @param sources paths of the archives, in any order
 * @param target the path of a file, which ends in `.zip`, or of a folder, which exists or ends in a slash; or `{ file }` or
 *   `{ folder }`
 * @param options `force` replaces an existing file; `profile` sets the form of the names; `maxRowBytes` is the maximum row
 *   size in bytes, 64 MiB by default; `signal` stops the merge
 * @returns the path, size and checksum of the merged archive, and the files in it
 * @throws {@link RequestError} if there is no source, the ranges overlap, leave a gap or belong to different chains or
 *   tables, their columns and schema versions are inconsistent, or a file's name does not contain its range
 * @throws {@link ProtocolError} if an archive is corrupt, or changes in the meantime
 * @throws {@link NodeError} if a gateway appended an error object to an archive
 * @throws {@link FileError} if a file cannot be read or written, or exists
 * @throws {@link CanceledError} if the signal was aborted
 *
 * @example
 * await mergeArchives(["chain-1-trades-1-1000.zip", "chain-1-trades-1001-2000.zip"], "merged/");
 */
export async function mergeArchives(
  sources: readonly string[],
  target: SaveTarget,
  options: MergeOptions = {},
): Promise<SavedArchive> {
  sources = snapshot(sources);
  target = snapshot(target);
  options = snapshot(options);
  assertKnownKeys("options", options, { force: true, profile: true, maxRowBytes: true, signal: true });
  const { force = false, profile = "specification", ...reading } = options;
  assertOneOf("force", force, [true, false]);
  assertOneOf("profile", profile, profiles);
  assertArray("sources", sources, "Pass the paths of the archives.");
  const path = await readTarget(target, ".zip");
  const parts: Part[] = [];
  for (const source of sources) {
    assertText("a source", source, "chain-1-trades-1-1000.zip");
    parts.push(...(await partsOf(source, reading)));
  }
  parts.sort((a, b) => (a.name.fromBlock < b.name.fromBlock ? -1 : 1));
  checkAdjacent(parts);
  const groups = groupsOf(parts);
  const crossing = groups.length > 1;
  const versioned = crossing || profileRules[profile].names.versioned === "files";
  await using reader = createPartReader(reading.signal);
  const files = groups.map((group) => ({
    name: csvName(joined(group.parts, versioned ? group.schemaVersion : undefined), profile),
    content: () => contentOf(group.parts, reader, reading),
  }));
  const fileName = () => archiveName(joined(parts, crossing ? groups.at(-1)?.schemaVersion : undefined), profile);
  return await saveArchive(writeArchiveFiles(files), { target: path, force, fileName, signal: reading.signal });
}

async function partsOf(path: string, { signal, ...options }: ReadOptions): Promise<Part[]> {
  await using file = await openFile(path);
  if (file.archive === undefined) {
    throw cannotMerge(
      `${nameText(path)} is not a regular file`,
      "Save the archive to a file first: archives are read more than once.",
    );
  }
  const heads = await csvHeads(archiveEntries(file.archive, { limits: UNLIMITED, signal }), options);
  return heads.map(({ entry, name, columns }) => {
    if (name === undefined) {
      throw cannotMerge(
        `the name of ${nameText(entry.name)} in ${nameText(path)} does not contain its table and blocks`,
        "Only files named CHAIN-TABLE-FROM-TO.csv, or CHAIN-TABLE-VERSION-FROM-TO.csv, can be merged.",
      );
    }
    return { path, fileName: entry.name, name, columns };
  });
}

function checkAdjacent(parts: readonly Part[]): void {
  if (parts.length === 0) {
    throw cannotMerge("the list is empty", "Pass the paths of the archives.");
  }
  for (const [index, { fileName, name }] of parts.entries()) {
    const previous = parts[index - 1];
    if (previous === undefined) {
      continue;
    }
    const both = `${nameText(previous.fileName)} and ${nameText(fileName)}`;
    if (name.chainId !== previous.name.chainId) {
      throw cannotMerge(`${both} belong to different chains`, "Use archives of one chain.");
    }
    if (name.table !== previous.name.table) {
      throw cannotMerge(`${both} contain different tables`, "Use archives of one table.");
    }
    if (name.fromBlock <= previous.name.toBlock) {
      throw cannotMerge(`${both} overlap`, "Remove one of them, or export ranges that do not overlap.");
    }
    if (name.fromBlock > previous.name.toBlock + 1n) {
      const gap = `${previous.name.toBlock + 1n} to ${name.fromBlock - 1n}`;
      throw cannotMerge(
        `the blocks ${gap} between ${both} are missing`,
        "Export these blocks, and merge that archive too.",
      );
    }
  }
}

function groupsOf(parts: readonly Part[]): Group[] {
  const groups: Group[] = [];
  for (const part of parts) {
    const group = groups.at(-1);
    const previous = group?.parts.at(-1);
    const { schemaVersion } = part.name;
    if (group === undefined || previous === undefined) {
      groups.push({ parts: [part], schemaVersion });
      continue;
    }
    const both = `${nameText(previous.fileName)} and ${nameText(part.fileName)}`;
    const same = sameColumns(previous.columns, part.columns);
    if (schemaVersion === undefined || group.schemaVersion === undefined || schemaVersion === group.schemaVersion) {
      if (!same) {
        throw schemaVersion !== undefined && schemaVersion === group.schemaVersion
          ? cannotMerge(
              `${both} have the same schema version, but different columns`,
              "Export them again: one of them is wrong.",
            )
          : cannotMerge(
              `${both} have different columns, but their names do not both contain a schema version`,
              "Export the complete range.",
            );
      }
      group.parts.push(part);
      group.schemaVersion ??= schemaVersion;
    } else if (schemaVersion < group.schemaVersion) {
      throw cannotMerge(`the schema version decreases between ${both}`, "Export them again: one of them is wrong.");
    } else {
      groups.push({ parts: [part], schemaVersion });
    }
  }
  return groups;
}

function joined(parts: readonly Part[], schemaVersion: bigint | undefined): ExportName {
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined) {
    throw cannotMerge("the list is empty", "Pass the paths of the archives.");
  }
  const { chainId, table, fromBlock } = first.name;
  return { chainId, table, schemaVersion, fromBlock, toBlock: last.name.toBlock };
}

async function* contentOf(
  parts: readonly Part[],
  reader: PartReader,
  reading: ReadOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [index, part] of parts.entries()) {
    yield* checkedRows(await reader.open(part), part, index > 0, reading);
  }
}

/** Yields a file's bytes, each once it has been decoded. With `headless`, without the header row. */
async function* checkedRows(
  content: AsyncIterable<Buffer>,
  part: Part,
  headless: boolean,
  { maxRowBytes }: ReadOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const header = createRowBuffer();
  let isInHeader = headless;
  const read: Buffer[] = [];
  async function* reading() {
    for await (const bytes of content) {
      read.push(bytes);
      yield bytes;
    }
  }
  function* decoded() {
    for (const bytes of read.splice(0)) {
      const { taken, complete } = isInHeader ? header.add(bytes, MAX_HEADER_BYTES) : { taken: 0, complete: true };
      isInHeader = !complete;
      yield bytes.subarray(taken);
    }
  }
  for await (const { columns } of decodeCsv(reading(), { name: part.fileName, maxRowBytes })) {
    if (!sameColumns(columns, part.columns)) {
      throw changed(part);
    }
    yield* decoded();
  }
  yield* decoded();
}

function sameColumns(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((column, index) => column === b[index]);
}

function cannotMerge(why: string, advice: string): RequestError {
  return new RequestError(`the archives cannot be merged: ${why}`, { advice });
}

/** One CSV file of the archives to merge. */
export interface Part {
  readonly path: string;
  readonly fileName: string;
  readonly name: ExportName;
  readonly columns: readonly string[];
}

/** Opens the content of parts in order. */
export interface PartReader extends AsyncDisposable {
  /**
   * Opens a part.
   *
   * @throws {@link ProtocolError} if the archive was changed in the meantime
   */
  open(part: Part): Promise<AsyncIterable<Buffer>>;
}

/** Creates a reader that keeps the archive of the last part open, so that its directory is read only once. */
export function createPartReader(signal: AbortSignal | undefined): PartReader {
  let current: { readonly path: string; readonly file: OpenFile; readonly entries: AsyncGenerator<Entry> } | undefined;

  async function close(): Promise<void> {
    await current?.file[Symbol.asyncDispose]();
    current = undefined;
  }

  return {
    async open(part) {
      if (current?.path !== part.path) {
        await close();
        const file = await openFile(part.path);
        const archive = file.archive ?? inMemory(Buffer.alloc(0));
        current = { path: part.path, file, entries: archiveEntries(archive, { limits: UNLIMITED, signal }) };
      }
      for await (const entry of unclosed(current.entries)) {
        if (entry.name === part.fileName) {
          return entry.content();
        }
      }
      throw changed(part);
    },
    [Symbol.asyncDispose]: close,
  };
}

/** Returns the values of a generator that stays open when the caller stops early. */
function unclosed<T>(values: AsyncGenerator<T>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => ({ next: () => values.next() }) };
}

/** Creates the error for an archive that has changed since it was first opened. */
function changed({ path, fileName }: Part): ProtocolError {
  return corrupt(`${nameText(fileName)} in ${nameText(path)} changed while it was read`);
}

/**
 * Joins the CSV files of archives with adjacent ranges: one header row, then all rows, byte for byte. Content and checksums of
 * the archives are checked in the process.
 *
 * @throws {@link ProtocolError} if an archive is corrupt, or has different columns than the first one
 * @throws {@link FileError} if one cannot be read
 * @throws {@link CanceledError} if the signal was aborted; the errors of `paths` unchanged
 */
export async function* joinedCsv(
  paths: AsyncIterable<string>,
  reading: ReadOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  let first: { readonly name: string; readonly columns: readonly string[] } | undefined;
  for await (const path of paths) {
    for await (const file of openArchive(path, reading).files()) {
      const { name, columns } = file;
      if (first === undefined) {
        first = { name, columns };
        yield* file.content();
        continue;
      }
      if (!sameColumns(columns, first.columns)) {
        throw new ProtocolError(
          `${nameText(first.name)} and ${nameText(name)} have the same schema version, but different columns`,
          { advice: "Nothing was saved. Use another node, and report this to the operator of the node." },
        );
      }
      yield* withoutHeader(file.content());
    }
  }
}

async function* withoutHeader(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const header = createRowBuffer();
  let isInHeader = true;
  for await (const bytes of content) {
    if (!isInHeader) {
      yield bytes;
      continue;
    }
    const { taken, complete } = header.add(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), MAX_HEADER_BYTES);
    isInHeader = !complete;
    yield bytes.subarray(taken);
  }
}
