import { unixMs } from "../../../runtime/index.js";
import type { FetchUnit, SinkOpening } from "../../sink.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { FROM_BLOCK, identifier, sinkColumns } from "../columns.js";
import {
  negativeZerosSql,
  readPlan,
  rowsSql,
  tellAdded,
  tellUnknown,
  unitName,
  unknownValuesSql,
} from "../duckdb/plan.js";
import { checkCount, difference } from "../duckdb/shared.js";
import { withSpooled } from "../duckdb/spool.js";
import { isThere } from "./apply-change.js";
import { syncFile } from "./durable.js";
import { copySql, type Engine, readParquetSql } from "./engine.js";
import type { Layout } from "./layout.js";
import { checkNotText, typedSql, withoutText } from "./typed-columns.js";

/** Where a unit is written, and by what. */
export interface Workshop {
  readonly layout: Layout;
  readonly engine: Engine;
}

/**
 * Write the Parquet file of a unit, to disk. It has all columns of the table, whatever its schema version has.
 *
 * @param workshop the engine, and the folder for temporary files
 * @param unit the unit
 * @param fetch asks the node for it; its errors are thrown unchanged
 * @param how the path, who is told of what is not known, and what ends it
 * @returns the entry for the ledger
 * @throws {@link SinkError} where it cannot be written whole
 */
export async function writeUnit(
  { layout, engine }: Workshop,
  unit: Unit,
  fetch: FetchUnit,
  { part, rules, signal }: { readonly part: string; readonly rules: SinkOpening; readonly signal: AbortSignal },
): Promise<LedgerEntry> {
  const csv = await fetch();
  const plan = readPlan(unit, csv.columns);
  checkNotText(unit.table, plan.added);
  return await withSpooled(layout.pending, csv, signal, async (spooled) => {
    tellAdded(unit, plan, rules);
    const { chainId, table, fromBlock, toBlock, segmentId, schemaVersion } = unit;
    const columns = [...sinkColumns(table).map((column) => column.name), ...plan.added];
    const rows = typedSql(table, columns, rowsSql(plan, spooled, columns, "VARCHAR"));
    const query = `SELECT *, CAST(${fromBlock} AS BIGINT) AS ${FROM_BLOCK} FROM (${rows.query})`;
    const facts = {
      chain_id: chainId,
      table_name: table,
      from_block: fromBlock,
      to_block: toBlock,
      segment_id: segmentId,
    };
    await engine.use(
      `writing ${unitName(unit)}`,
      async (connection) => {
        const { sha256 } = spooled.measures;
        const metadata = { ...facts, schema_version: schemaVersion, sha256 };
        const zeros = negativeZerosSql(plan, spooled);
        const signed = zeros !== undefined && (await connection.runAndReadAll(zeros)).getRows().length > 0;
        const copied = await connection.run(copySql(query, part, metadata, !signed));
        checkCount(unit, BigInt(copied.rowsChanged), spooled);
        const values = unknownValuesSql(table, `${readParquetSql(part)} WHERE true`);
        for (const [column, value] of values === undefined ? [] : (await connection.runAndReadAll(values)).getRows()) {
          tellUnknown(unit, rules, String(column), String(value));
        }
      },
      signal,
    );
    await syncFile(part);
    return { ...unit, ...spooled.measures, loadedAt: new Date(unixMs()).toISOString() };
  });
}

/**
 * Count the rows in the file of a unit.
 *
 * @param workshop the engine, and the folder
 * @param entry the unit
 * @returns how many rows came with the unit; none where there is no file
 */
export async function countUnit({ layout, engine }: Workshop, entry: LedgerEntry): Promise<bigint> {
  const path = layout.file(entry);
  if (!(await isThere(path))) {
    return 0n;
  }
  return await engine.use(`counting ${unitName(entry)}`, async (connection) => {
    const query = `SELECT count(*) FROM ${readParquetSql(path)} WHERE ${FROM_BLOCK} = ${entry.fromBlock}`;
    return BigInt(String((await connection.runAndReadAll(query)).getRows()[0]?.[0]));
  });
}

/**
 * Compare the file of a unit with the unit fetched anew.
 *
 * @param workshop the engine, and the folder
 * @param entry the unit
 * @param fetch asks the node for it
 * @param signal ends it
 * @returns how many rows of the node's the file lacks, and how many it has beyond
 */
export async function compareUnit(
  { layout, engine }: Workshop,
  entry: LedgerEntry,
  fetch: FetchUnit,
  signal: AbortSignal,
) {
  const csv = await fetch();
  const plan = readPlan(entry, csv.columns);
  const path = layout.file(entry);
  return await withSpooled(layout.pending, csv, signal, async (spooled) => {
    if (!(await isThere(path))) {
      return { missing: spooled.measures.rows, extra: 0n };
    }
    return await engine.use(
      `comparing ${unitName(entry)}`,
      async (connection) => {
        const file = readParquetSql(path);
        const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${file}`);
        const there = described.getRows().flatMap(([column]) => (column === FROM_BLOCK ? [] : [String(column)]));
        const columns = withoutText(entry.table, there);
        const more = plan.added.filter((column) => !columns.includes(column));
        const all = [...columns, ...more];
        const fresh = typedSql(entry.table, all, rowsSql(plan, spooled, all, "VARCHAR"));
        const values = fresh.names.map((column) =>
          more.includes(column) ? `CAST(NULL AS VARCHAR) AS ${identifier(column)}` : identifier(column),
        );
        return await difference(connection, `SELECT ${values.join(", ")} FROM ${file}`, fresh.query);
      },
      signal,
    );
  });
}
