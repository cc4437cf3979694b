import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { joinedCsv } from "../../archive/join.js";
import { archiveName, csvName, type ExportedRange } from "../../archive/names.js";
import { saveArchive } from "../../archive/save.js";
import { ProtocolError } from "../../errors/index.js";
import { placeOf } from "../../file/save-whole.js";
import { type Profile, profileRules, profiles } from "../../schema/profile.js";
import { followingController } from "../../signal/follow.js";
import { listEntries } from "../../zip/file.js";
import { writeArchiveFiles } from "../../zip/write.js";
import type { ExportProgress, SavedExport, SaveOptions } from "../network-history-export.js";
import { fetchPart, type PartFetching } from "./fetch-part.js";
import { keptParts } from "./kept-parts.js";
import { type PartFolder, temporaryParts } from "./part-folder.js";
import { type PartPlan, planParts, type RangePart, requireUnchanged } from "./part-plan.js";
import { sideBySide } from "./side-by-side.js";

/** What an export in parts is made of. */
export interface PartSaving extends Pick<PartFetching, "save" | "retry"> {
  readonly asked: ExportedRange;
  readonly listSegments: (signal: AbortSignal) => Promise<readonly HistorySegment[]>;
  /** Whose form names have where those of the node have none. */
  readonly profile: Profile;
  readonly maxRowBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
}

/**
 * Save an export whose range is cut at segments: its parts are fetched side by side, each is checked, and they are joined
 * in their order while others are still coming. The archive is the one that a single stream would have brought.
 *
 * @param saving the range, and how a part is exported
 * @param target the folder or file to write to
 * @param options those of `saveTo`; `parallel` or `resume` is given
 * @returns as `saveTo` does
 * @throws as `saveTo` does
 */
export async function saveInParts(saving: PartSaving, target: string, options: SaveOptions): Promise<SavedExport> {
  const { asked, listSegments } = saving;
  const { force = false, resume } = options;
  const stop = followingController(saving.signal);
  try {
    await using folder = await (resume === undefined
      ? temporaryBeside(target, force)
      : keptParts(resume, asked, target));
    const plan = planParts(await listSegments(stop.signal), asked);
    await folder.begin(plan);
    const before = await folder.whole(target, stop.signal);
    const saved =
      before === undefined
        ? await fetchAndJoin(saving, target, options, { folder, plan, stop })
        : { ...before, entries: await listEntries(before.path), verified: options.verify ?? "content", extensions: [] };
    await folder.finish();
    const { fromBlock, toBlock } = asked;
    return { ...saved, fromBlock, toBlock };
  } finally {
    stop.abort();
  }
}

async function temporaryBeside(target: string, force: boolean): Promise<PartFolder> {
  const { folder } = await placeOf({ target, force });
  return temporaryParts(folder);
}

interface Work {
  readonly folder: PartFolder;
  readonly plan: PartPlan;
  readonly stop: AbortController;
}

async function fetchAndJoin(
  saving: PartSaving,
  target: string,
  { force = false, verify, parallel = 1 }: SaveOptions,
  { folder, plan, stop }: Work,
): Promise<Omit<SavedExport, "fromBlock" | "toBlock">> {
  const { asked, listSegments, profile, maxRowBytes, onProgress, save, retry } = saving;
  await placeOf({ target, force }); // A file that exists is no reason to fetch anything.
  const { signal } = stop;
  const { parts, chainId } = plan;
  let there = 0;
  const fetching = { save, retry, signal, onProgress: summed(onProgress, () => there / parts.length) };
  const work = sideBySide(
    parts,
    parallel,
    async (part) => {
      if (await folder.has(part, signal)) {
        there += 1;
        return [];
      }
      const { extensions, ...saved } = await fetchPart(part, folder.pathOf(part), fetching);
      await folder.add(part, saved);
      there += 1;
      return extensions;
    },
    stop,
  );
  /** The part that is joined, and the first of its file, with whose columns it is compared. */
  let joining: readonly RangePart[] = [];
  /** The paths of parts, each once it is there. */
  async function* arriving(from: number, until: number): AsyncGenerator<string> {
    for (const [index, part] of parts.slice(from, until).entries()) {
      await work.result(from + index);
      joining = [...parts.slice(from, from + 1), part];
      yield folder.pathOf(part);
      joining = [];
      await folder.joined(part);
    }
    if (until === parts.length) {
      requireUnchanged(plan, await listSegments(signal));
    }
  }
  try {
    const extensions = await work.result(0);
    const form = await formOf(parts[0], folder, profile);
    const spans = spansOf(parts);
    const versioned = spans.length > 1 || profileRules[form].names.versioned === "files";
    const files = spans.map(({ from, until, first, last }) => ({
      name: csvName(
        { ...first, toBlock: last.toBlock, schemaVersion: versioned ? first.schemaVersion : undefined },
        form,
      ),
      content: () => joinedCsv(arriving(from, until), { maxRowBytes, signal }),
    }));
    const schemaVersion = spans.length > 1 ? parts.at(-1)?.schemaVersion : undefined;
    const saved = await saveArchive(stopping(writeArchiveFiles(files), stop), {
      ...{ target, force, verify, signal: saving.signal }, // What stops the parts must not hide why.
      fileName: () => archiveName({ ...asked, chainId, schemaVersion }, form),
      exported: { ...asked, chainId },
      beforeNaming: folder.written,
    });
    return { ...saved, extensions };
  } catch (reason) {
    if (reason instanceof ProtocolError && !stop.signal.aborted) {
      await folder.reject(joining); // Its checksums are right, but not its rows.
    }
    stop.abort(reason);
    throw (await work.ended())?.reason ?? reason;
  }
}

/** Stop what is under way as soon as the caller takes no more bytes: the bytes may wait for it. */
function stopping(bytes: AsyncGenerator<Uint8Array>, stop: AbortController): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => bytes.next(),
      return() {
        stop.abort();
        return bytes.return(undefined);
      },
    }),
  };
}

/** Whose form the names of a node's files have. */
async function formOf(part: RangePart | undefined, folder: PartFolder, otherwise: Profile): Promise<Profile> {
  const [entry] = part === undefined ? [] : await listEntries(folder.pathOf(part));
  const named = (profile: Profile) =>
    part &&
    csvName(profileRules[profile].names.versioned === "files" ? part : { ...part, schemaVersion: undefined }, profile);
  return profiles.find((profile) => named(profile) === entry?.name) ?? otherwise;
}

/** Parts that become one CSV file: adjacent ones of one schema version. */
interface PartSpan {
  readonly from: number;
  readonly until: number;
  readonly first: RangePart;
  readonly last: RangePart;
}

function spansOf(parts: readonly RangePart[]): PartSpan[] {
  const spans: PartSpan[] = [];
  for (const [index, part] of parts.entries()) {
    const span = spans.at(-1);
    if (span?.first.schemaVersion === part.schemaVersion) {
      spans.splice(-1, 1, { ...span, until: index + 1, last: part });
    } else {
      spans.push({ from: index, until: index + 1, first: part, last: part });
    }
  }
  return spans;
}

/** Add up what has arrived of all parts. That of a try that failed does not count. */
function summed(onProgress: PartSaving["onProgress"], partThere: () => number): PartFetching["onProgress"] {
  const latest = new Map<RangePart, ExportProgress>();
  let [bytes, chunks] = [0, 0];
  return (part, progress) => {
    const before = latest.get(part);
    latest.set(part, progress);
    bytes += progress.bytes - (before?.bytes ?? 0);
    chunks += progress.chunks - (before?.chunks ?? 0);
    onProgress?.({ bytes, chunks, part: partThere() });
  };
}
