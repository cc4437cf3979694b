import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { syncFolder } from "../../../base/file/atomic-file.js";
import { temporaryName } from "../../../base/file/temporary-files.js";
import { unixMs } from "../../../base/runtime/index.js";
import type { ListedRow, ListedTable } from "../../views/listed-records.js";
import { LISTED_TABLES, listedJsonTypes, listedValues, newVersionsSql } from "../../views/version-views.js";
import { fileLiteral, literal } from "../duckdb/csv-columns.js";
import { type FolderLayout, onPath, syncFile, withLock } from "./parquet-folder.js";
import type { WriterContext } from "./parquet-writer.js";
import { fileExists } from "./pending-changes.js";

/**
 * Adds to the file of a table what a node lists: what is new, or differs from its last version. The file has a line of JSON for each
 * version. It is replaced as a whole, once the node has listed all.
 *
 * @throws {@link SinkError} if the file cannot be read or written; errors of `batches` unchanged
 */
export async function storeListed(
  { layout, engine }: WriterContext,
  table: ListedTable,
  batches: AsyncIterable<readonly ListedRow[]>,
): Promise<void> {
  const types = listedJsonTypes(table);
  const columns = Object.entries(types).map(([name, type]) => `${name} ${type}`);
  await engine.use(`storing ${table}`, async (connection) => {
    for (const name of ["listed", "known"]) {
      await connection.run(`CREATE TEMP TABLE ${name} (${columns.join(", ")})`);
    }
    const valid_from = new Date(unixMs()).toISOString();
    for await (const rows of batches) {
      const json = JSON.stringify(rows.map((row) => ({ ...row, valid_from })));
      await connection.run(
        `INSERT INTO listed SELECT r.* FROM (SELECT unnest(from_json($1, ${literal(JSON.stringify([types]))})) AS r)`,
        [json],
      );
    }
    await withLock(layout, "listed", () => addVersions(connection, layout, table));
  });
}

async function addVersions(connection: DuckDBConnection, layout: FolderLayout, table: ListedTable): Promise<void> {
  const path = listedFile(layout, table);
  if (await fileExists(path)) {
    await connection.run(`INSERT INTO known FROM ${readListedSql(path, table)}`);
  }
  const [[id]] = LISTED_TABLES[table];
  const { rowsChanged } = await connection.run(
    `INSERT INTO known SELECT DISTINCT ON (${id}) * FROM (${newVersionsSql(table, "listed", "known")})`,
  );
  if (rowsChanged === 0) {
    return;
  }
  const part = join(layout.pending, await temporaryName());
  try {
    await connection.run(`COPY (FROM known ORDER BY ALL) TO ${literal(part)} (FORMAT json)`);
    await syncFile(part);
    await onPath(layout.listed, mkdir(layout.listed, { recursive: true }));
    await onPath(path, rename(part, path));
    await syncFolder(layout.listed);
  } finally {
    await onPath(part, rm(part, { force: true }));
  }
}

/**
 * Replaces a table of a database by what nodes have listed, if the folder has any. It has no key, whose index would have to fit into memory.
 *
 * @returns whether it has
 * @throws errors of DuckDB, which name the file
 */
export async function loadListed(
  connection: DuckDBConnection,
  layout: FolderLayout,
  table: ListedTable,
): Promise<boolean> {
  const path = listedFile(layout, table);
  if (!(await fileExists(path))) {
    return false;
  }
  await connection.run(
    `CREATE OR REPLACE TABLE ${table} AS SELECT ${listedValues("duckdb", table)} FROM ${readListedSql(path, table)} AS r`,
  );
  return true;
}

/** Not a Parquet file, which readers of all Parquet files in the folder would take for rows of a table. */
function listedFile({ listed }: FolderLayout, table: ListedTable): string {
  return join(listed, `${table}.jsonl`);
}

function readListedSql(path: string, table: ListedTable): string {
  const columns = Object.entries(listedJsonTypes(table)).map(([name, type]) => `${name}: '${type}'`);
  return `read_json(${fileLiteral(path)}, format = 'newline_delimited', columns = {${columns.join(", ")}})`;
}
