import { resolve } from "node:path";
import { Code } from "@connectrpc/connect";
import { requireKnown, requireText } from "../../../errors/check-values.js";
import { CanceledError, SinkError } from "../../../errors/index.js";
import type { TableName } from "../../../schema/tables.js";
import type { Sink, SinkOpening } from "../../sink.js";
import type { LedgerEntry } from "../../unit.js";
import { notOpen } from "../duckdb/database.js";
import { MEMORY_LIMIT } from "../duckdb/duckdb-sink.js";
import { unitName } from "../duckdb/plan.js";
import { heldByOther, isSame } from "../duckdb/shared.js";
import { applyChange } from "./apply-change.js";
import { engineIn } from "./engine.js";
import type { Layout } from "./layout.js";
import { type Manifest, manifestOf } from "./manifest.js";
import { folderAt, makeFolder } from "./open-folder.js";
import { type Change, holdUnit, isChanging, recover } from "./pending.js";
import { compareUnit, countUnit, type Workshop, writeUnit } from "./write-unit.js";

/** How a folder of Parquet files is used as a sink. */
export interface ParquetSinkOptions {
  /** The most memory that DuckDB, which writes the files, takes, as it writes it; `1GiB` by default. */
  readonly memoryLimit?: string | undefined;
}

/**
 * Make a sink of a folder of Parquet files, one for each unit, which DuckDB, Spark, ClickHouse, Polars and others read
 * without this library: `data/table=trades/from=0000000001/0000000001-0000001000.parquet`. The package `@duckdb/node-api`
 * must be installed. Several processes may write to one folder.
 *
 * @param folder is made where it is missing; the one that it stands in is not
 * @param options the memory that is taken
 * @returns the sink
 * @throws `RequestError` where the folder is no text, or an option is unknown or wrong
 *
 * @example
 * await syncHistory(client, { sink: parquetSink("history") });
 */
export function parquetSink(folder: string, options: ParquetSinkOptions = {}): Sink {
  requireKnown("options", options, { memoryLimit: true });
  const { memoryLimit = MEMORY_LIMIT } = options;
  requireText("the folder of Parquet files", folder, "history");
  requireText("memoryLimit", memoryLimit, MEMORY_LIMIT);
  const name = `parquet:${folder}`;
  const manifests = new Map<TableName, Manifest>();
  let place: Workshop | undefined;
  let opening: SinkOpening | undefined;

  const opened = () => {
    if (place === undefined) {
      throw notOpen(name);
    }
    return place;
  };
  const start = (layout: Layout) => {
    place = { layout, engine: engineIn(name, layout.pending, memoryLimit) };
  };
  const manifest = (table: TableName): Manifest => {
    const found = manifests.get(table) ?? manifestOf(opened().layout.manifest(table));
    manifests.set(table, found);
    return found;
  };

  const apply = (change: Change, part: string) => applyChange(opened().layout, manifest, change, part);

  /** What is found of a unit that another process joins or replaces meanwhile says nothing of it. */
  async function whileThere<T>(entry: LedgerEntry, finding: Promise<T>, isFine: (found: T) => boolean): Promise<T> {
    const found = await finding.then(
      (value) => ({ value }),
      (reason: unknown) => ({ reason }),
    );
    if ("value" in found && isFine(found.value)) {
      return found.value;
    }
    if (await isChanging(opened().layout.pending, entry)) {
      throw changing(name, entry, "or a process was killed while it did: `tradewire sync compact` finishes that");
    }
    if (!(await manifest(entry.table).entries()).some((other) => isSame(other, entry))) {
      throw changing(name, entry, "since the ledger was read");
    }
    if ("reason" in found) {
      throw found.reason;
    }
    return found.value;
  }

  return {
    name,
    async open(given) {
      opening = given;
      start(await makeFolder(resolve(folder), name, given));
      await recover(opened().layout.pending, apply);
    },
    async inspect() {
      const { layout, chainId } = await folderAt(resolve(folder), name);
      start(layout);
      return chainId;
    },
    async *entries(table, behind) {
      yield* await manifest(table).entries(behind);
    },
    async load(unit, fetch, { replace, signal }) {
      const rules = opening;
      if (rules === undefined) {
        throw notOpen(name);
      }
      if (signal.aborted) {
        throw new CanceledError({ cause: signal.reason });
      }
      const held = await holdUnit(opened().layout.pending, unit, apply);
      if (held === undefined) {
        return { outcome: "busy" };
      }
      try {
        const covered = await manifest(unit.table).covers(unit);
        const entries = covered && replace ? await manifest(unit.table).entries() : [];
        const found = entries.filter(
          ({ fromBlock, toBlock }) => fromBlock <= unit.toBlock && unit.fromBlock <= toBlock,
        );
        if (covered && (!replace || found.some((entry) => isSame(entry, unit)))) {
          return { outcome: "there" };
        }
        const entry = await writeUnit(opened(), unit, fetch, { part: held.part, rules, signal });
        await held.commit({ load: entry, remove: found });
        return { outcome: "loaded", entry };
      } finally {
        await held.release();
      }
    },
    async remove(entry) {
      const held = await holdUnit(opened().layout.pending, entry, apply);
      if (held === undefined) {
        throw heldByOther(name, entry);
      }
      try {
        const found = (await manifest(entry.table).entries()).find((other) => isSame(other, entry));
        await (found && held.commit({ remove: [found] }));
      } finally {
        await held.release();
      }
    },
    async countRows(entry) {
      return await whileThere(entry, countUnit(opened(), entry), (rows) => rows === entry.rows);
    },
    async compareRows(entry, fetch, signal) {
      return await whileThere(entry, compareUnit(opened(), entry, fetch, signal), ({ missing }) => missing === 0n);
    },
    async [Symbol.asyncDispose]() {
      const closing = place;
      place = undefined;
      await closing?.engine.close();
    },
  };
}

function changing(name: string, entry: LedgerEntry, when: string): SinkError {
  return new SinkError(
    `${name}: files of ${unitName(entry)} are being joined or replaced by another process, ${when}`,
    {
      code: Code.Aborted,
      advice: "Try the same again in a moment.",
    },
  );
}
