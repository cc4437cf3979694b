import { resolve } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { Code } from "../../base/errors/code.js";
import { SinkError } from "../../base/errors/index.js";
import { type TableName, tableNames } from "../../data/schema/table-names.js";
import { identifier } from "../sink-columns.js";
import { fileLiteral, literal } from "../sinks/duckdb/csv-columns.js";
import { loadListed } from "../sinks/parquet/listed-files.js";
import { type EntryJson, manifestOf, toJson } from "../sinks/parquet/manifest.js";
import { type FolderLayout, readAsked, readFolder } from "../sinks/parquet/parquet-folder.js";
import { createModel, isRequired, missingTable, type StatementTables, tablesOf } from "./duckdb-content.js";
import type { DuckdbContent } from "./duckdb-query.js";
import { ledgerGaps } from "./ledger-gaps.js";

/**
 * Returns the content of a folder of Parquet files for a statement: views over the files of its tables, and what nodes have listed.
 *
 * @throws {@link SinkError} if it is not the folder of a sync
 */
export async function folderContent(folder: string, sql: string): Promise<DuckdbContent> {
  const name = `parquet:${folder}`;
  const { layout, chainId } = await readFolder(resolve(folder), name);
  if (chainId === undefined) {
    throw new SinkError(`${name} is not a folder of Parquet files that a sync has written`, {
      code: Code.NotFound,
      advice: "Check the path: the folder contains `data` and `_tradewire`.",
    });
  }
  return {
    name,
    folders: [...tableNames.map((table) => layout.table(table)), layout.listed],
    async prepare(connection) {
      await createModel(connection, sql);
      const read = await tablesOf(connection, sql);
      const hasMarkets = await addListed(connection, layout, read);
      const loaded = await addLedger(connection, layout, NAMES_LEDGER.test(sql) ? tableNames : read.tables);
      for (const table of read.tables) {
        if (loaded.has(table)) {
          await showFiles(connection, layout, table);
        } else if (isRequired(table, read.tables) && !(table === "markets" && hasMarkets)) {
          throw missingTable(name, table, `Load it first: tradewire sync --to ${name} --table ${table}`);
        }
      }
      return await ledgerGaps(connection, read.tables, true);
    },
  };
}

/** Statements about the blocks that are loaded, which name no table. */
const NAMES_LEDGER = /\b(?:loaded_blocks|tradewire_ledger)\b/iu;

/** Adds what nodes have listed to the tables that a statement reads. Returns whether there are markets. */
async function addListed(
  connection: DuckDBConnection,
  layout: FolderLayout,
  { listed }: StatementTables,
): Promise<boolean> {
  const found = new Set<string>();
  for (const table of listed) {
    if (await loadListed(connection, layout, table)) {
      found.add(table);
    }
  }
  return found.has("tradewire_markets");
}

const ENTRY: { readonly [name in keyof EntryJson]: string } = {
  chain_id: "VARCHAR",
  table: "VARCHAR",
  from_block: "BIGINT",
  to_block: "BIGINT",
  segment_id: "VARCHAR",
  previous_segment_id: "VARCHAR",
  schema_version: "BIGINT",
  rows: "BIGINT",
  bytes: "BIGINT",
  sha256: "VARCHAR",
  loaded_at: "TIMESTAMPTZ",
};

/** Adds the entries of tables, and what syncs were asked for, to the ledger. Returns the tables with entries. */
async function addLedger(
  connection: DuckDBConnection,
  layout: FolderLayout,
  tables: readonly TableName[],
): Promise<ReadonlySet<TableName>> {
  const loaded = new Set<TableName>();
  const values = Object.keys(ENTRY).map((name) => `r.${identifier(name)}`);
  const type = JSON.stringify([ENTRY]);
  for (const table of tables) {
    const entries = await manifestOf(layout.manifest(table)).entries();
    if (entries.length > 0) {
      loaded.add(table);
      await connection.run(
        `INSERT INTO tradewire_ledger SELECT ${values.join(", ")} FROM (SELECT unnest(from_json($1, ${literal(type)})) AS r)`,
        [JSON.stringify(entries.map(toJson))],
      );
    }
  }
  for (const [table, fromBlock] of await readAsked(layout.asked)) {
    await connection.run("INSERT INTO tradewire_tables VALUES ($1, $2)", [table, fromBlock]);
  }
  return loaded;
}

/** The views were created over the empty table, which takes much less time than over many files. */
async function showFiles(connection: DuckDBConnection, layout: FolderLayout, table: TableName): Promise<void> {
  const files = fileLiteral(layout.table(table)).replace(/'$/u, "/**/*.parquet'");
  await connection.run(`DROP TABLE ${table}`);
  await connection.run(
    `CREATE VIEW ${table} AS FROM read_parquet(${files}, union_by_name = true, hive_partitioning = false)`,
  );
}
