import { Code } from "@connectrpc/connect";
import type { PoolClient } from "pg";
import { SinkError } from "../../../errors/index.js";
import { columnType, createTableSql, createTypesSql, namedViewSql } from "../../../schema/sql.js";
import type { TableName } from "../../../schema/table-names.js";
import { FROM_BLOCK, identifier, type SinkColumn, sinkSchema } from "../sink-columns.js";
import { assertTrusted, type Catalog, readCatalog, schemaNumber, unitIndex } from "./postgres-catalog.js";
import { checkServer, claimChain, ledgerSql } from "./postgres-ledger.js";

/** What is to be in the schema. */
export interface SchemaPlan {
  /** The schema's name, as it is and as SQL writes it. */
  readonly schema: string;
  readonly within: string;
  readonly trustedOwners: readonly string[];
  readonly chainId: string;
  readonly tables: readonly TableName[];
  /** Whether tables get their keys and indexes now. */
  readonly indexes: boolean;
  readonly namedViews: boolean;
}

/** The setting, of a transaction, that rows take their unit's first block from. */
export const FROM_BLOCK_SETTING = "tradewire.from_block";

/**
 * Make what is missing: schema, ledger, types, tables, indexes, views. Others that do the same at once wait.
 *
 * @param client in a transaction
 * @param wanted what is to be there
 * @throws {@link SinkError} where the server cannot be used, or a table is there that is not of a sync
 * @throws {@link RequestError} where the schema holds another chain
 */
export async function createTables(client: PoolClient, wanted: SchemaPlan): Promise<void> {
  const { within } = wanted;
  await checkServer(client);
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`tradewire open ${wanted.schema}`]);
  if ((await schemaNumber(client, wanted.schema)) === undefined) {
    await client.query(`CREATE SCHEMA ${within}`);
  }
  const number = (await schemaNumber(client, wanted.schema)) ?? "";
  const catalog = await readCatalog(client, number);
  await assertTrusted(client, number, { ...wanted, names: usedNames(wanted.tables) });
  if (!catalog.tables.has("tradewire_sync")) {
    await runAll(client, ledgerSql(`${within}.`));
  }
  await claimChain(client, within, wanted.chainId);
  await runAll(client, typeChanges(within, wanted.tables, catalog));
  for (const table of wanted.tables) {
    await runAll(client, tableChanges(within, table, catalog));
  }
  if (wanted.indexes) {
    await createIndexes(client, { number, within }, wanted.tables);
  }
  if (wanted.namedViews) {
    const { tables } = await readCatalog(client, number);
    for (const table of wanted.tables) {
      const schema = sinkSchema(table);
      const known = new Set(schema.columns.map(({ name }) => name));
      const names = [...(tables.get(table)?.keys() ?? [])].map((name) => (known.has(name) ? name : identifier(name)));
      await client.query(namedViewSql(schema, names, "postgres", `${within}.`));
    }
  }
}

/**
 * Make the primary keys and indexes of tables that lack them.
 *
 * @param client in a transaction
 * @param schema its number, and as SQL writes it
 * @param tables the tables
 */
export async function createIndexes(
  client: PoolClient,
  { number, within }: { readonly number: string; readonly within: string },
  tables: readonly TableName[],
): Promise<void> {
  const { keyed, indexes, partitioned } = await readCatalog(client, number);
  for (const table of tables) {
    if (!keyed.has(table)) {
      await client.query(keySql(table, `${within}.`, partitioned.get(table)));
    }
    if (!indexes.has(unitIndex(table))) {
      await client.query(unitIndexSql(table, `${within}.`));
    }
  }
}

/** Memory of the server for the making of an index. */
const INDEX_MEMORY = "256MB";

/**
 * Make the indexes of a table that usual questions need, as far as it lacks them.
 *
 * @param client in a transaction
 * @param schema its number, and as SQL writes it
 * @param table the table
 * @returns how many were made
 */
export async function createQueryIndexes(
  client: PoolClient,
  { number, within }: { readonly number: string; readonly within: string },
  table: TableName,
): Promise<number> {
  const { indexes } = await readCatalog(client, number);
  const missing = queryIndexes(table, `${within}.`).filter(({ name }) => !indexes.has(name));
  await client.query(`SET LOCAL maintenance_work_mem TO '${INDEX_MEMORY}'`);
  for (const { sql } of missing) {
    await client.query(sql);
  }
  return missing.length;
}

/**
 * Write the statement that gives a table its primary key.
 *
 * @param table the table
 * @param before what stands before its name, such as `public.`
 * @param partitionedBy the columns by which it is partitioned: PostgreSQL wants them in the key
 * @returns the statement
 */
export function keySql(table: TableName, before: string, partitionedBy: readonly string[] = []): string {
  const { key } = sinkSchema(table);
  const columns = [...key, ...partitionedBy.filter((column) => !key.includes(column))];
  return `ALTER TABLE ${before}${table} ADD PRIMARY KEY (${columns.join(", ")})`;
}

/**
 * Write the statement that makes the index by which the rows of a unit are found. They stand together: a few hundred bytes
 * of index find them.
 *
 * @param table the table
 * @param before what stands before its name, such as `public.`
 * @returns the statement
 */
export function unitIndexSql(table: TableName, before: string): string {
  return `CREATE INDEX ${unitIndex(table)} ON ${before}${table} USING brin (${FROM_BLOCK}) WITH (pages_per_range = 32, autosummarize = on)`;
}

/**
 * List the relations and types that a sync uses of its schema.
 *
 * @param tables its tables
 * @returns the names
 */
export function usedNames(tables: readonly TableName[]): string[] {
  const types = tables.flatMap((table) =>
    sinkSchema(table).columns.flatMap(({ type, values }) => (values !== undefined || type === "hugeint" ? [type] : [])),
  );
  return [
    "tradewire_sync",
    "tradewire_ledger",
    ...tables,
    ...tables.map((table) => `${table}_named`),
    ...new Set(types),
  ];
}

/** The types that are missing, and the values that types of another release lack. */
function typeChanges(within: string, tables: readonly TableName[], { types }: Catalog): string[] {
  const schemas = tables.map(sinkSchema);
  const missing = createTypesSql(schemas, "postgres", { within }).filter((statement) => {
    const [, name = ""] = /^CREATE (?:TYPE|DOMAIN) .*?(\w+) AS /u.exec(statement) ?? [];
    return !types.has(name);
  });
  const values = schemas.flatMap(({ columns }) =>
    columns.flatMap(({ type, values: known = [] }) => {
      const there = types.get(type);
      const lacking = there === undefined ? [] : known.filter((value) => !there.includes(value));
      return lacking.map((value) => `ALTER TYPE ${within}.${type} ADD VALUE IF NOT EXISTS '${value}'`);
    }),
  );
  return [...missing, ...new Set(values)];
}

/**
 * Write the statement that makes a table, without its key, where none is there.
 *
 * @param table the table
 * @param within the schema as SQL writes it; that of the search path by default
 * @returns the statement; its types are those of `createTypesSql`
 */
export function newTableSql(table: TableName, within?: string): string {
  // A row that comes without a unit has no block: the setting is missing then, and the row is refused.
  const fromBlock = `${FROM_BLOCK} int8 NOT NULL DEFAULT pg_catalog.current_setting('${FROM_BLOCK_SETTING}')::int8`;
  return createTableSql(sinkSchema(table), "postgres", { withoutKey: true, further: [fromBlock], within });
}

/** A table as it is made, or the changes to one that another release made. */
function tableChanges(within: string, table: TableName, catalog: Catalog): string[] {
  const schema = sinkSchema(table);
  const there = catalog.tables.get(table);
  if (there === undefined) {
    return [newTableSql(table, within)];
  }
  if (!there.has(FROM_BLOCK)) {
    throw new SinkError(
      `the table ${table} exists but was not created by tradewire sync: it has no column ${FROM_BLOCK}`,
      {
        code: Code.FailedPrecondition,
        advice: "Give another schema, or rename the table.",
      },
    );
  }
  return schema.columns.flatMap((column) => columnChanges(within, table, column, there));
}

function columnChanges(
  within: string,
  table: TableName,
  column: SinkColumn,
  there: ReadonlyMap<string, { readonly nullable: boolean }>,
): string[] {
  const { name, was, nullable } = column;
  const found = there.get(name);
  if (found !== undefined) {
    return nullable && !found.nullable ? [`ALTER TABLE ${within}.${table} ALTER COLUMN ${name} DROP NOT NULL`] : [];
  }
  return was !== undefined && there.has(was)
    ? [`DROP VIEW IF EXISTS ${within}.${table}_named`, `ALTER TABLE ${within}.${table} RENAME COLUMN ${was} TO ${name}`]
    : [`ALTER TABLE ${within}.${table} ADD COLUMN ${name} ${columnType(column, "postgres", { within })}`];
}

async function runAll(client: PoolClient, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    await client.query(statement);
  }
}

/**
 * The indexes that usual questions need beside the primary keys, as lists of columns. Which questions these are stands in
 * docs/sync-queries.md.
 */
const QUERY_INDEXES: { readonly [table in TableName]?: readonly (readonly string[])[] } = {
  trades: [["vega_time"], ["market_id", "vega_time"], ["buyer", "vega_time"], ["seller", "vega_time"]],
  orders: [
    ["id", "vega_time"],
    ["party_id", "vega_time"],
  ],
  market_data: [["market", "vega_time"]],
  balances: [["account_id", "vega_time"]],
  ledger: [
    ["account_from_id", "vega_time"],
    ["account_to_id", "vega_time"],
  ],
  positions: [["party_id", "vega_time"]],
  margin_levels: [["account_id", "vega_time"]],
  liquidity_provisions: [["party_id", "vega_time"]],
  deposits: [["party_id", "vega_time"]],
  withdrawals: [["party_id", "vega_time"]],
  rewards: [["party_id", "vega_time"]],
  delegations: [["party_id", "vega_time"]],
  blocks: [["height"]],
};

/** An index that a table may get. */
export interface QueryIndex {
  readonly name: string;
  /** The statement that makes it. */
  readonly sql: string;
}

/**
 * List the indexes of a table that usual questions need.
 *
 * @param table the table
 * @param before what stands before its name, such as `public.`
 * @returns the indexes
 */
export function queryIndexes(table: TableName, before: string): QueryIndex[] {
  return (QUERY_INDEXES[table] ?? []).map((columns) => {
    const name = `${table}_by_${columns.join("_")}`;
    return { name, sql: `CREATE INDEX ${name} ON ${before}${table} (${columns.join(", ")})` };
  });
}

/** How tables are partitioned: by the month of `vega_time`, or by so many blocks of `_from_block`. */
export interface Partitioning {
  readonly by: "month" | { readonly blocks: bigint };
  /** The first month such as `2023-10`, or the first block. */
  readonly from: string | bigint;
  /** How many partitions are made. One more takes all other rows. */
  readonly count: number;
}

/**
 * Write the statements that make what a sync into PostgreSQL makes: a sync then takes it as it is.
 *
 * @param tables the tables
 * @param options the schema, which is made where it is missing, that of the search path by default; and the partitions
 * @returns the statements, without semicolons
 */
export function syncScript(
  tables: readonly TableName[],
  { schema, partitioning }: { readonly schema?: string | undefined; readonly partitioning?: Partitioning | undefined },
): string[] {
  const within = schema === undefined ? undefined : identifier(schema);
  const before = within === undefined ? "" : `${within}.`;
  const column = partitioning?.by === "month" ? "vega_time" : FROM_BLOCK;
  return [
    ...(within === undefined ? [] : [`CREATE SCHEMA IF NOT EXISTS ${within}`]),
    ...ledgerSql(before),
    ...createTypesSql(tables.map(sinkSchema), "postgres", { within }),
    ...tables.flatMap((table) => [
      `${newTableSql(table, within)}${partitioning === undefined ? "" : ` PARTITION BY RANGE (${column})`}`,
      ...(partitioning === undefined ? [] : partitionsSql(table, before, partitioning)),
      keySql(table, before, partitioning === undefined ? [] : [column]),
      unitIndexSql(table, before),
    ]),
  ];
}

function partitionsSql(table: TableName, before: string, { by, from, count }: Partitioning): string[] {
  const parts = Array.from({ length: count }, (_, index) => {
    if (by === "month") {
      const [first, next] = [index, index + 1].map((months) => monthBehind(String(from), months));
      return [first?.replace("-", "_"), `'${first}-01 00:00:00+00'`, `'${next}-01 00:00:00+00'`];
    }
    const first = BigInt(from) + BigInt(index) * by.blocks;
    return [first, first, first + by.blocks];
  });
  return [
    ...parts.map(
      ([name, first, next]) =>
        `CREATE TABLE ${before}${table}_p${name} PARTITION OF ${before}${table} FOR VALUES FROM (${first}) TO (${next})`,
    ),
    `CREATE TABLE ${before}${table}_rest PARTITION OF ${before}${table} DEFAULT`,
  ];
}

function monthBehind(month: string, months: number): string {
  const [year = 0, number = 1] = month.split("-").map(Number);
  const at = year * 12 + number - 1 + months;
  return `${String(Math.floor(at / 12)).padStart(4, "0")}-${String((at % 12) + 1).padStart(2, "0")}`;
}
