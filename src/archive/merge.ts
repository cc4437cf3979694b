import { createCarry } from "../csv/carry.js";
import { decodeCsv } from "../csv/decode.js";
import { requireList } from "../errors/check-kinds.js";
import { requireKnown, requireOneOf, requireText } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import { readTarget, type SaveTarget } from "../file/target.js";
import { type Profile, profileRules, profiles } from "../schema/profile.js";
import { nameText } from "../zip/archive-error.js";
import { openFile } from "../zip/seekable.js";
import { writeArchiveFiles } from "../zip/write.js";
import { archiveEntries, UNLIMITED } from "./entries.js";
import { csvHeads } from "./files.js";
import { archiveName, csvName, type ExportName } from "./names.js";
import { changed, createPartReader, type Part, type PartReader } from "./parts.js";
import { type SavedArchive, saveArchive } from "./save.js";

/** How the archives are read. */
interface Reading {
  readonly maxRowBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How archives are merged. */
interface MergeOptions extends Reading {
  readonly force?: boolean | undefined;
  readonly profile?: Profile | undefined;
}

/** Parts that become one CSV file. */
interface Group {
  readonly parts: Part[];
  schemaVersion: bigint | undefined;
}

const MAX_HEADER_BYTES = 64 * 1024 * 1024;

/**
 * Join archives of adjacent ranges into one of the same form (specification, 4.1): one CSV file for each schema
 * version, with one header row, and names made of the joined range. Rows are copied byte for byte, and checked on the
 * way.
 *
 * Files whose names carry no schema version are of one version where their header rows are equal: a change of schema
 * adds, removes or renames a column. By the specification, names carry a version only where the joined range crosses such
 * a change. In the profile `deployed` every CSV file has it whose version a source names, and numbers are padded.
 *
 * @param sources paths of the archives, in any order
 * @param target the path of a file, which ends in `.zip`, or of a folder, which exists or ends in a slash; or `{ file }` or
 *   `{ folder }`
 * @param options `force` replaces a file that exists; `profile` is whose form the names have; `maxRowBytes` is the most bytes of a row, 64 MiB by default;
 *   `signal` ends the work
 * @returns the path, size and checksum of the merged archive, and the files in it
 * @throws {@link RequestError} where no source is given, the ranges overlap or leave a gap, are of different chains or
 *   tables, their columns and schema versions do not fit together, or a file's name does not give its range
 * @throws {@link ProtocolError} where an archive is broken, or changes meanwhile
 * @throws {@link NodeError} where a gateway wrote an error object behind an archive
 * @throws {@link FileError} where a file cannot be read or written, or exists
 * @throws {@link CanceledError} where the signal was aborted
 *
 * @example
 * await mergeArchives(["chain-1-trades-1-1000.zip", "chain-1-trades-1001-2000.zip"], "merged/");
 */
export async function mergeArchives(
  sources: readonly string[],
  target: SaveTarget,
  options: MergeOptions = {},
): Promise<SavedArchive> {
  requireKnown("options", options, { force: true, profile: true, maxRowBytes: true, signal: true });
  const { force = false, profile = "specification", ...reading } = options;
  requireOneOf("force", force, [true, false]);
  requireOneOf("profile", profile, profiles);
  requireList("sources", sources, "Give the paths of the archives.");
  const path = await readTarget(target, ".zip");
  const parts: Part[] = [];
  for (const source of sources) {
    requireText("a source", source, "chain-1-trades-1-1000.zip");
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

async function partsOf(path: string, { signal, ...options }: Reading): Promise<Part[]> {
  await using file = await openFile(path);
  if (file.archive === undefined) {
    throw cannot(`${nameText(path)} is no file`, "Save it to a file first: archives are read more than once.");
  }
  const heads = await csvHeads(archiveEntries(file.archive, { limits: UNLIMITED, signal }), options);
  return heads.map(({ entry, name, columns }) => {
    if (name === undefined) {
      throw cannot(
        `the name of ${nameText(entry.name)} in ${nameText(path)} does not say its table and blocks`,
        "Only files with names by the specification, 4.1, can be merged.",
      );
    }
    return { path, fileName: entry.name, name, columns };
  });
}

function checkAdjacent(parts: readonly Part[]): void {
  if (parts.length === 0) {
    throw cannot("there is none", "Give the paths of the archives.");
  }
  for (const [index, { fileName, name }] of parts.entries()) {
    const before = parts[index - 1];
    if (before === undefined) {
      continue;
    }
    const both = `${nameText(before.fileName)} and ${nameText(fileName)}`;
    if (name.chainId !== before.name.chainId) {
      throw cannot(`${both} are of different chains`, "Give archives of one chain.");
    }
    if (name.table !== before.name.table) {
      throw cannot(`${both} are of different tables`, "Give archives of one table.");
    }
    if (name.fromBlock <= before.name.toBlock) {
      throw cannot(`${both} overlap`, "Leave one of them out, or export ranges that do not overlap.");
    }
    if (name.fromBlock > before.name.toBlock + 1n) {
      const gap = `${before.name.toBlock + 1n} to ${name.fromBlock - 1n}`;
      throw cannot(`between ${both} the blocks ${gap} are missing`, "Export them, and give that archive too.");
    }
  }
}

/** Group the parts by schema version. */
function groupsOf(parts: readonly Part[]): Group[] {
  const groups: Group[] = [];
  for (const part of parts) {
    const group = groups.at(-1);
    const before = group?.parts.at(-1);
    const { schemaVersion } = part.name;
    if (group === undefined || before === undefined) {
      groups.push({ parts: [part], schemaVersion });
      continue;
    }
    const both = `${nameText(before.fileName)} and ${nameText(part.fileName)}`;
    const same = sameColumns(before.columns, part.columns);
    if (schemaVersion === undefined || group.schemaVersion === undefined || schemaVersion === group.schemaVersion) {
      if (!same) {
        throw schemaVersion !== undefined && schemaVersion === group.schemaVersion
          ? cannot(`${both} have one schema version, but different columns`, "Export them again; one of them is wrong.")
          : cannot(
              `${both} have different columns, but not both names say their schema version`,
              "Export the whole range.",
            );
      }
      group.parts.push(part);
      group.schemaVersion ??= schemaVersion;
    } else if (schemaVersion < group.schemaVersion) {
      throw cannot(`the schema version of ${both} falls`, "Export them again; one of them is wrong.");
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
    throw cannot("there is none", "Give the paths of the archives.");
  }
  const { chainId, table, fromBlock } = first.name;
  return { chainId, table, schemaVersion, fromBlock, toBlock: last.name.toBlock };
}

async function* contentOf(
  parts: readonly Part[],
  reader: PartReader,
  reading: Reading,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [index, part] of parts.entries()) {
    yield* checkedRows(await reader.open(part), part, index > 0, reading);
  }
}

/** A file's bytes, each passed on once it has been decoded. `headless` leaves the header row out. */
async function* checkedRows(
  content: AsyncGenerator<Buffer, void, undefined>,
  part: Part,
  headless: boolean,
  { maxRowBytes }: Reading,
): AsyncGenerator<Uint8Array, void, undefined> {
  const header = createCarry();
  let inHeader = headless;
  const read: Buffer[] = [];
  async function* reading() {
    for await (const bytes of content) {
      read.push(bytes);
      yield bytes;
    }
  }
  function* decoded() {
    for (const bytes of read.splice(0)) {
      const { taken, whole } = inHeader ? header.add(bytes, MAX_HEADER_BYTES) : { taken: 0, whole: true };
      inHeader = !whole;
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

function cannot(why: string, advice: string): RequestError {
  return new RequestError(`the archives cannot be merged: ${why}`, { advice });
}
