import { resolve } from "node:path";
import { Code } from "../../../base/errors/code.js";
import { CanceledError, SinkError } from "../../../base/errors/index.js";
import { assertKnownKeys, assertText } from "../../../base/input/assert.js";
import type { TableName } from "../../../data/schema/table-names.js";
import type { Sink, SinkOpening } from "../../sink.js";
import type { LedgerEntry } from "../../unit.js";
import { unitName } from "../duckdb/csv-columns.js";
import { notOpenError } from "../duckdb/duckdb-file.js";
import { loadDuckdb } from "../duckdb/duckdb-package.js";
import { MEMORY_LIMIT } from "../duckdb/duckdb-sink.js";
import { isEntryOf, unitClaimedError } from "../duckdb/duckdb-tables.js";
import { storeListed } from "./listed-files.js";
import { type Manifest, manifestOf } from "./manifest.js";
import { changeMarks, createFolder, type FolderLayout, readAsked, readFolder } from "./parquet-folder.js";
import { compareUnit, countUnit, engineIn, type WriterContext, writeUnit } from "./parquet-writer.js";
import { applyChange, claimUnit, isChanging, type PendingChange, recoverChanges } from "./pending-changes.js";

/** Options of a Parquet sink. */
export interface ParquetSinkOptions {
  /** Memory limit of DuckDB, which writes the files, in its syntax; `1GiB` by default. */
  readonly memoryLimit?: string | undefined;
}

interface Opened extends WriterContext {
  /** `undefined` if the sink was only inspected. */
  readonly rules: SinkOpening | undefined;
}

/**
 * Creates a sink that stores history in a folder of Parquet files, one for each unit, such as
 * `data/table=trades/from=0000000001/0000000001-0000001000.parquet`. DuckDB, Spark, ClickHouse, Polars and others read them
 * without this library. The package `@duckdb/node-api` must be installed. Several processes may write to the same folder.
 *
 * @param folder the folder's path. It is created if it does not exist; its parent folder must exist
 * @param options the memory limit
 * @returns the sink
 * @throws `RequestError` if the folder is not a string, or an option is unknown or invalid
 *
 * @example
 * await syncHistory(client, { sink: parquetSink("history") });
 */
export function parquetSink(folder: string, options: ParquetSinkOptions = {}): Sink {
  assertKnownKeys("options", options, { memoryLimit: true });
  const { memoryLimit = MEMORY_LIMIT } = options;
  assertText("the folder of Parquet files", folder, "history");
  assertText("memoryLimit", memoryLimit, MEMORY_LIMIT);
  const name = `parquet:${folder}`;
  const manifests = new Map<TableName, Manifest>();
  let state: Opened | undefined;

  const opened = () => {
    if (state === undefined) {
      throw notOpenError(name);
    }
    return state;
  };
  const start = (layout: FolderLayout, rules?: SinkOpening) => {
    state = { layout, engine: engineIn(name, layout.pending, memoryLimit), rules };
  };
  const manifest = (table: TableName): Manifest => {
    const found = manifests.get(table) ?? manifestOf(opened().layout.manifest(table));
    manifests.set(table, found);
    return found;
  };

  const apply = (change: PendingChange, part: string) => applyChange(opened().layout, manifest, change, part);

  /** Returns a result about a unit's files, or throws if another process has joined or replaced them, so that it may be wrong. */
  async function unlessChanged<T>(
    entry: LedgerEntry,
    result: Promise<T>,
    isPlausible: (value: T) => boolean,
  ): Promise<T> {
    const found = await result.then(
      (value) => ({ value }),
      (reason: unknown) => ({ reason }),
    );
    if ("value" in found && isPlausible(found.value)) {
      return found.value;
    }
    if (await isChanging(opened().layout.pending, entry)) {
      throw changing(name, entry, "or that process was killed; `tradewire sync compact` completes the change");
    }
    if (!(await manifest(entry.table).entries()).some((other) => isEntryOf(other, entry))) {
      throw changing(name, entry, "since the ledger was read");
    }
    if ("reason" in found) {
      throw found.reason;
    }
    return found.value;
  }

  return {
    name,
    async open(settings) {
      await loadDuckdb(); // The first unit may come much later.
      start(await createFolder(resolve(folder), name, settings), settings);
      await recoverChanges(opened().layout.pending, apply);
    },
    async inspect() {
      const { layout, chainId } = await readFolder(resolve(folder), name);
      start(layout);
      return chainId;
    },
    async *entries(table, behind) {
      yield* await manifest(table).entries(behind);
    },
    markHistory: (next) => changeMarks(opened().layout, next),
    asked: () => readAsked(opened().layout.asked),
    async load(unit, fetch, { replace, signal }) {
      if (signal.aborted) {
        throw new CanceledError({ cause: signal.reason });
      }
      const { rules } = opened();
      if (rules === undefined) {
        throw notOpenError(name);
      }
      const claim = await claimUnit(opened().layout.pending, unit, apply);
      if (claim === undefined) {
        return { outcome: "busy" };
      }
      try {
        const covered = await manifest(unit.table).covers(unit);
        const entries = covered && replace ? await manifest(unit.table).entries() : [];
        const found = entries.filter(
          ({ fromBlock, toBlock }) => fromBlock <= unit.toBlock && unit.fromBlock <= toBlock,
        );
        if (covered && (!replace || found.some((entry) => isEntryOf(entry, unit)))) {
          return { outcome: "there" };
        }
        const entry = await writeUnit(opened(), unit, fetch, { part: claim.part, rules, signal });
        await claim.commit({ load: entry, remove: found });
        return { outcome: "loaded", entry };
      } finally {
        await claim.release();
      }
    },
    async remove(entry) {
      const claim = await claimUnit(opened().layout.pending, entry, apply);
      if (claim === undefined) {
        throw unitClaimedError(name, entry);
      }
      try {
        const found = (await manifest(entry.table).entries()).find((other) => isEntryOf(other, entry));
        await (found && claim.commit({ remove: [found] }));
      } finally {
        await claim.release();
      }
    },
    storeListed: (table, batches) => storeListed(opened(), table, batches),
    async countRows(entry) {
      return await unlessChanged(entry, countUnit(opened(), entry), (rows) => rows === entry.rows);
    },
    async compareRows(entry, fetch, signal) {
      return await unlessChanged(entry, compareUnit(opened(), entry, fetch, signal), ({ missing }) => missing === 0n);
    },
    async close() {
      const closing = state;
      state = undefined;
      await closing?.engine.close();
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}

function changing(name: string, entry: LedgerEntry, when: string): SinkError {
  return new SinkError(`${name}: another process is merging or replacing files of ${unitName(entry)}, ${when}`, {
    code: Code.Aborted,
    advice: "Retry in a moment.",
  });
}
