import type { PoolClient } from "pg";
import { Code } from "../../../base/errors/code.js";
import { SinkError } from "../../../base/errors/index.js";
import { columnType, createTableSql, createTypesSql } from "../../../data/schema/sql.js";
import type { TableName } from "../../../data/schema/table-names.js";
import { FROM_BLOCK, identifier, type SinkColumn, sinkSchema } from "../../sink-columns.js";
import { LISTED_TABLES } from "../../views/version-views.js";
import { assertTrusted, type Catalog, readCatalog, schemaOid, unitIndex } from "./postgres-catalog.js";
import { askedSql, assertSupported, claimChain, ledgerSql, marksSql, rememberAsked } from "./postgres-ledger.js";

/** The required content of the schema. */
export interface SchemaPlan {
  readonly schema: string;
  /** The schema, quoted for SQL. */
  readonly within: string;
  readonly trustedOwners: readonly string[];
  readonly chainId: string;
  readonly tables: readonly TableName[];
  /** The first block that the tables are asked for from, if any. */
  readonly fromBlock: bigint | undefined;
  /** Whether to create the primary keys and indexes now. */
  readonly indexes: boolean;
}

/** The transaction's setting from which rows take the first block of their unit. */
export const FROM_BLOCK_SETTING = "tradewire.from_block";

/**
 * Creates the schema, ledger, types, tables and indexes that do not exist. Concurrent calls wait for each other.
 *
 * @throws {@link SinkError} if the server is not supported, or a table was not created by a sync
 * @throws {@link RequestError} if the schema holds another chain
 */
export async function createTables(client: PoolClient, wanted: SchemaPlan): Promise<void> {
  const { within } = wanted;
  await assertSupported(client);
  await lockSchema(client, wanted.schema);
  if ((await schemaOid(client, wanted.schema)) === undefined) {
    await client.query(`CREATE SCHEMA ${within}`);
  }
  const number = (await schemaOid(client, wanted.schema)) ?? "";
  const catalog = await readCatalog(client, number);
  await assertTrusted(client, number, { ...wanted, names: usedNames(wanted.tables) });
  if (!catalog.tables.has("tradewire_sync")) {
    await runAll(client, ledgerSql(`${within}.`));
  } else {
    await runAll(client, [
      ...(catalog.tables.has("tradewire_tables") ? [] : [askedSql(`${within}.`)]),
      ...(catalog.tables.has("tradewire_history") ? [] : [marksSql(`${within}.`)]),
    ]);
  }
  await claimChain(client, within, wanted.chainId);
  if (wanted.fromBlock !== undefined) {
    await rememberAsked(client, within, wanted.tables, wanted.fromBlock);
  }
  await runAll(client, typeChanges(within, wanted.tables, catalog));
  for (const table of wanted.tables) {
    await runAll(client, tableChanges(within, table, catalog));
  }
  if (wanted.indexes) {
    await createIndexes(client, { number, within }, wanted.tables);
  }
}

/** Waits until no other sync changes the schema. */
export async function lockSchema(client: PoolClient, schema: string): Promise<void> {
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`tradewire open ${schema}`]);
}

export async function createIndexes(
  client: PoolClient,
  { number, within }: { readonly number: string; readonly within: string },
  tables: readonly TableName[],
): Promise<void> {
  const isComplete = ({ keyed, indexes }: Catalog) =>
    tables.every((table) => keyed.has(table) && indexes.has(unitIndex(table)));
  if (isComplete(await readCatalog(client, number))) {
    return;
  }
  await lockIndexes(client, within);
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

/**
 * Waits until no other sync creates indexes in the schema, however long that takes: PostgreSQL fails if two create the same one. The
 * indexes themselves wait for loads, which also take longer than other locks may be awaited.
 */
async function lockIndexes(client: PoolClient, within: string): Promise<void> {
  await client.query("SET LOCAL lock_timeout TO 0");
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`tradewire indexes ${within}`]);
}

/** The server's memory limit for the creation of an index. */
const INDEX_MEMORY = "256MB";

export async function createQueryIndexes(
  client: PoolClient,
  { number, within }: { readonly number: string; readonly within: string },
  table: TableName,
): Promise<number> {
  const findMissing = async () => {
    const { indexes } = await readCatalog(client, number);
    return queryIndexes(table, `${within}.`).filter(({ name }) => !indexes.has(name));
  };
  if ((await findMissing()).length === 0) {
    return 0;
  }
  await lockIndexes(client, within);
  const missing = await findMissing();
  await client.query(`SET LOCAL maintenance_work_mem TO '${INDEX_MEMORY}'`);
  for (const { sql } of missing) {
    await client.query(sql);
  }
  return missing.length;
}

function keySql(table: TableName, prefix: string, partitionedBy: readonly string[] = []): string {
  const { key } = sinkSchema(table);
  const columns = [...key, ...partitionedBy.filter((column) => !key.includes(column))];
  return `ALTER TABLE ${prefix}${table} ADD PRIMARY KEY (${columns.join(", ")})`;
}

/**
 * Returns the statement that creates the index that finds the rows of a unit. The rows are adjacent, so a block range index of a
 * few hundred bytes suffices.
 */
function unitIndexSql(table: TableName, prefix: string): string {
  return `CREATE INDEX ${unitIndex(table)} ON ${prefix}${table} USING brin (${FROM_BLOCK}) WITH (pages_per_range = 32, autosummarize = on)`;
}

export function usedNames(tables: readonly TableName[]): string[] {
  const types = tables.flatMap((table) =>
    sinkSchema(table).columns.flatMap(({ type, values }) => (values !== undefined || type === "hugeint" ? [type] : [])),
  );
  return [
    "tradewire_sync",
    "tradewire_ledger",
    "tradewire_tables",
    "tradewire_history",
    ...tables,
    ...Object.keys(LISTED_TABLES),
    ...new Set(types),
  ];
}

/** Returns the statements that create missing types, and add missing values to types of another release. */
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

/** Returns the statement that creates a table without its primary key. */
export function newTableSql(table: TableName, within?: string): string {
  // A row that is inserted outside of a unit is rejected, because the setting is missing.
  const fromBlock = `${FROM_BLOCK} int8 NOT NULL DEFAULT pg_catalog.current_setting('${FROM_BLOCK_SETTING}')::int8`;
  return createTableSql(sinkSchema(table), "postgres", { withoutKey: true, further: [fromBlock], within });
}

/** Returns the statements that create a table, or change the table of another release. */
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
        advice: "Use another schema, or rename the table.",
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
    ? [`ALTER TABLE ${within}.${table} RENAME COLUMN ${was} TO ${name}`]
    : [`ALTER TABLE ${within}.${table} ADD COLUMN ${name} ${columnType(column, "postgres", { within })}`];
}

export async function runAll(client: PoolClient, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    await client.query(statement);
  }
}

/**
 * The columns of the indexes for common queries, in addition to the primary keys. docs/sync.md lists these queries.
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

interface QueryIndex {
  readonly name: string;
  /** The statement that creates it. */
  readonly sql: string;
}

function queryIndexes(table: TableName, prefix: string): QueryIndex[] {
  return (QUERY_INDEXES[table] ?? []).map((columns) => {
    const name = `${table}_by_${columns.join("_")}`;
    return { name, sql: `CREATE INDEX ${name} ON ${prefix}${table} (${columns.join(", ")})` };
  });
}

/** The partitioning of tables: by the month of `vega_time`, or by ranges of `_from_block`. */
export interface Partitioning {
  readonly by: "month" | { readonly blocks: bigint };
  /** The first month, such as `2023-10`, or the first block. */
  readonly from: string | bigint;
  /** The number of partitions. One more is created for all other rows. */
  readonly count: number;
}

/**
 * Returns the statements that create everything that a sync into PostgreSQL would create. A sync then uses the existing tables.
 */
export function syncScript(
  tables: readonly TableName[],
  { schema, partitioning }: { readonly schema?: string | undefined; readonly partitioning?: Partitioning | undefined },
): string[] {
  const within = schema === undefined ? undefined : identifier(schema);
  const prefix = within === undefined ? "" : `${within}.`;
  const column = partitioning?.by === "month" ? "vega_time" : FROM_BLOCK;
  return [
    ...(within === undefined ? [] : [`CREATE SCHEMA IF NOT EXISTS ${within}`]),
    ...ledgerSql(prefix),
    ...createTypesSql(tables.map(sinkSchema), "postgres", { within }),
    ...tables.flatMap((table) => [
      `${newTableSql(table, within)}${partitioning === undefined ? "" : ` PARTITION BY RANGE (${column})`}`,
      ...(partitioning === undefined ? [] : partitionsSql(table, prefix, partitioning)),
      keySql(table, prefix, partitioning === undefined ? [] : [column]),
      unitIndexSql(table, prefix),
    ]),
  ];
}

function partitionsSql(table: TableName, prefix: string, { by, from, count }: Partitioning): string[] {
  const parts = Array.from({ length: count }, (_, index) => {
    if (by === "month") {
      const [first, next] = [index, index + 1].map((months) => monthAfter(String(from), months));
      return [first?.replace("-", "_"), `'${first}-01 00:00:00+00'`, `'${next}-01 00:00:00+00'`];
    }
    const first = BigInt(from) + BigInt(index) * by.blocks;
    return [first, first, first + by.blocks];
  });
  return [
    ...parts.map(
      ([name, first, next]) =>
        `CREATE TABLE ${prefix}${table}_p${name} PARTITION OF ${prefix}${table} FOR VALUES FROM (${first}) TO (${next})`,
    ),
    `CREATE TABLE ${prefix}${table}_rest PARTITION OF ${prefix}${table} DEFAULT`,
  ];
}

function monthAfter(month: string, months: number): string {
  const [year = 0, number = 1] = month.split("-").map(Number);
  const at = year * 12 + number - 1 + months;
  return `${String(Math.floor(at / 12)).padStart(4, "0")}-${String((at % 12) + 1).padStart(2, "0")}`;
}
