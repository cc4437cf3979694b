import { type FileHandle, open } from "node:fs/promises";
import * as v from "valibot";
import { Code } from "../../../base/errors/code.js";
import { SinkError } from "../../../base/errors/index.js";
import { hasErrorCode, quotedPath } from "../../../base/errors/node-errors.js";
import { jsonObject, wholeNumber } from "../../../base/input/schemas.js";
import { firstIndex } from "../../../base/signal/collections.js";
import type { BlockRange } from "../../../data/history/segments.js";
import { tableNames } from "../../../data/schema/table-names.js";
import type { LedgerEntry } from "../../unit.js";
import { entryOf } from "../ledger-entry.js";
import { appendLines, onPath } from "./parquet-folder.js";

/** The size of a read of a manifest, in bytes. */
const READ_SIZE = 1024 * 1024;

/** The JSON schema of a ledger entry. All numbers are below 2^53, so that JSON holds them exactly. */
export const entryJson = jsonObject({
  chain_id: v.string(),
  table: v.picklist(tableNames),
  from_block: wholeNumber,
  to_block: wholeNumber,
  segment_id: v.string(),
  previous_segment_id: v.string(),
  schema_version: wholeNumber,
  rows: wholeNumber,
  bytes: wholeNumber,
  sha256: v.string(),
  loaded_at: v.string(),
});

/** An entry of the ledger as JSON. */
export type EntryJson = v.InferOutput<typeof entryJson>;

// The name `case` is part of the stored format.
const lineJson = jsonObject({ case: v.picklist(["loaded", "removed"]), ...entryJson.entries });

interface Line {
  readonly kind: "loaded" | "removed";
  readonly entry: LedgerEntry;
}

/** The ledger of a table: a file with a line for each loaded or removed unit. The last line of a unit applies. */
export interface Manifest {
  /** Reports whether a unit in the ledger covers some of the blocks. Reads the lines that were appended since the last call. */
  covers(range: BlockRange): Promise<boolean>;
  /** Reads the entries that begin after a block, all by default, ordered by blocks. */
  entries(behind?: bigint): Promise<LedgerEntry[]>;
  /** Appends lines with one write. */
  append(lines: readonly Line[]): Promise<void>;
}

/** Opens the manifest of a table. Several processes may append to it at the same time. */
export function manifestOf(path: string): Manifest {
  let offset = 0;
  /** First and last blocks of the units in the ledger, sorted: 16 bytes per unit. */
  const first: number[] = [];
  const last: number[] = [];
  let reading: Promise<unknown> = Promise.resolve();

  const refresh = async () => {
    offset = await eachLine(path, offset, ({ kind, entry }) => {
      const from = Number(entry.fromBlock);
      const at = indexFrom(first, from);
      const replaced = first[at] === from ? 1 : 0;
      if (kind === "loaded") {
        first.splice(at, replaced, from);
        last.splice(at, replaced, Number(entry.toBlock));
      } else if (replaced === 1 && last[at] === Number(entry.toBlock)) {
        first.splice(at, 1);
        last.splice(at, 1);
      }
    });
  };
  return {
    async covers({ fromBlock, toBlock }) {
      const refreshed = reading.then(refresh);
      reading = refreshed.catch(() => undefined);
      await refreshed;
      const after = indexFrom(first, Number(toBlock) + 1);
      const end = last[after - 1];
      return end !== undefined && end >= Number(fromBlock);
    },
    async entries(behind = -1n) {
      const entries = new Map<bigint, LedgerEntry>();
      await eachLine(path, 0, ({ kind, entry }) => {
        const known = entries.get(entry.fromBlock);
        if (entry.fromBlock <= behind) {
          return;
        }
        if (kind === "loaded") {
          entries.set(entry.fromBlock, entry);
        } else if (known?.toBlock === entry.toBlock && known.segmentId === entry.segmentId) {
          entries.delete(entry.fromBlock);
        }
      });
      return [...entries.values()].sort((a, b) => (a.fromBlock < b.fromBlock ? -1 : 1));
    },
    append: (lines) =>
      appendLines(
        path,
        lines.map(({ kind, entry }) => JSON.stringify({ case: kind, ...toJson(entry) })),
      ),
  };
}

/** Returns the index of the first number in a sorted list that is not below another number. */
function indexFrom(sorted: readonly number[], number: number): number {
  return firstIndex(sorted, (each) => each < number);
}

/** Reads the complete lines after an offset, and returns the offset after the last of them. */
async function eachLine(path: string, from: number, use: (line: Line) => void): Promise<number> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (reason) {
    if (hasErrorCode(reason, "ENOENT")) {
      return from;
    }
    return await onPath(path, Promise.reject(reason));
  }
  try {
    const buffer = Buffer.alloc(READ_SIZE);
    let offset = from;
    let rest = Buffer.alloc(0);
    for (;;) {
      const { bytesRead } = await onPath(path, file.read(buffer, 0, READ_SIZE, offset + rest.length));
      if (bytesRead === 0) {
        return offset; // The rest is a line that is being written, or that is incomplete.
      }
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf("\n") + 1;
      for (const text of bytes.toString("utf8", 0, end).split("\n")) {
        const line = readLine(path, text);
        if (line !== undefined) {
          use(line);
        }
      }
      offset += end;
      rest = bytes.subarray(end);
    }
  } finally {
    await file.close();
  }
}

function readLine(path: string, text: string): Line | undefined {
  if (!text.endsWith("}")) {
    return undefined; // It is empty or incomplete; the pending change of its unit still exists.
  }
  try {
    const { case: kind, ...entry } = v.parse(lineJson, JSON.parse(text));
    return { kind, entry: fromJson(entry) };
  } catch (cause) {
    throw new SinkError(`the manifest ${quotedPath(path)} has an invalid line`, {
      code: Code.DataLoss,
      advice: "Restore it from a backup. Without it, all units of the table are fetched again.",
      cause,
    });
  }
}

export function toJson(entry: LedgerEntry): EntryJson {
  return {
    chain_id: entry.chainId,
    table: entry.table,
    from_block: Number(entry.fromBlock),
    to_block: Number(entry.toBlock),
    segment_id: entry.segmentId,
    previous_segment_id: entry.previousSegmentId,
    schema_version: Number(entry.schemaVersion),
    rows: Number(entry.rows),
    bytes: Number(entry.bytes),
    sha256: entry.sha256,
    loaded_at: entry.loadedAt,
  };
}

export function fromJson(json: EntryJson): LedgerEntry {
  return entryOf({ ...json, table_name: json.table });
}
