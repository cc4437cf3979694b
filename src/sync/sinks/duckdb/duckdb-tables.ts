import type { DuckDBConnection } from "@duckdb/node-api";
import { Code } from "../../../base/errors/code.js";
import { SinkError } from "../../../base/errors/index.js";
import { storedColumns } from "../../../data/schema/sql.js";
import type { TableName } from "../../../data/schema/table-names.js";
import { FROM_BLOCK, identifier, type SinkColumn, sinkColumns } from "../../sink-columns.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { type SpooledCsv, unitName } from "./csv-columns.js";
import { withoutText } from "./number-columns.js";

/**
 * Creates a table if it does not exist, and adds the columns of this release that it lacks.
 *
 * The table has no primary key: an index of DuckDB keeps all keys in memory, and rejects a row that the same transaction has
 * deleted before. The ledger prevents duplicate rows. Enum values are text, so that a new value does not change the table;
 * DuckDB stores them with a dictionary anyway.
 *
 * @throws errors of DuckDB
 */
export async function createTable(connection: DuckDBConnection, table: TableName): Promise<void> {
  const existing = new Set(await tableColumns(connection, table));
  if (existing.size === 0) {
    await connection.run(newTableSql(table));
    return;
  }
  for (const column of sinkColumns(table).filter(({ name }) => !existing.has(name))) {
    for (const { name, type } of columnsOf(column)) {
      await addColumn(connection, table, name, type);
    }
  }
}

export function newTableSql(table: TableName): string {
  const columns = sinkColumns(table).flatMap((column) =>
    columnsOf(column).map(({ name, type }) => `${name} ${type}${column.nullable ? "" : " NOT NULL"}`),
  );
  return `CREATE TABLE ${table} (\n${[...columns, `${FROM_BLOCK} BIGINT NOT NULL`].map((each) => `  ${each}`).join(",\n")}\n)`;
}

/** Returns the columns that store a column, with their types. Those of enum values are text. */
function columnsOf(column: SinkColumn): { readonly name: string; readonly type: string }[] {
  return column.values === undefined ? storedColumns(column, "duckdb") : [{ name: column.name, type: "VARCHAR" }];
}

/** Returns the columns of a table that CSV files have. */
export async function tableColumns(connection: DuckDBConnection, table: TableName): Promise<string[]> {
  const rows = await connection.runAndReadAll(
    `SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main' AND table_name = '${table}' ORDER BY column_index`,
  );
  const names = rows.getRows().map(([name]) => String(name));
  return withoutText(
    table,
    names.filter((name) => name !== FROM_BLOCK),
  );
}

export async function addColumn(
  connection: DuckDBConnection,
  table: TableName,
  name: string,
  type = "VARCHAR",
): Promise<void> {
  await connection.run(`ALTER TABLE ${table} ADD COLUMN ${identifier(name)} ${type}`);
}

/**
 * Asserts that DuckDB has written as many rows as the CSV file has.
 *
 * @throws {@link SinkError} if the numbers differ
 */
export function assertCount(unit: Unit, rows: bigint, { measures }: SpooledCsv): void {
  if (rows !== measures.rows) {
    throw new SinkError(`${unitName(unit)}: DuckDB read ${rows} rows, but the file has ${measures.rows}`, {
      code: Code.Internal,
      advice:
        "Nothing was stored. Install another version of @duckdb/node-api, and report this to the developers of tradewire.",
    });
  }
}

/** Creates the error of a unit that cannot be removed because another sync has claimed it. */
export function unitClaimedError(name: string, unit: Unit): SinkError {
  return new SinkError(`${name}: ${unitName(unit)} is being loaded by another sync`, {
    code: Code.Unavailable,
    advice: "Wait until it is loaded.",
  });
}

/** Reports whether an entry is the entry of a unit, and not of another history or of other segments. */
export function isEntryOf(entry: LedgerEntry, unit: Unit): boolean {
  return entry.fromBlock === unit.fromBlock && entry.toBlock === unit.toBlock && entry.segmentId === unit.segmentId;
}

/** Counts the rows in which two queries differ. */
export async function countDifferences(
  connection: DuckDBConnection,
  held: string,
  fresh: string,
): Promise<{ missing: bigint; extra: bigint }> {
  const count = async (of: string, but: string) => {
    const result = await connection.runAndReadAll(`SELECT count(*) FROM (${of} EXCEPT ALL ${but})`);
    return BigInt(String(result.getRows()[0]?.[0]));
  };
  return { missing: await count(fresh, held), extra: await count(held, fresh) };
}
