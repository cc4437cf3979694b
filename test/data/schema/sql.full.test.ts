import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  alterTablesSql,
  createTableSql,
  createTypesSql,
  RequestError,
  type SqlDialect,
  type SqlOptions,
  schemaVersions,
  type TableSchema,
  tableNames,
  tableSchema,
} from "tradewire";
import { type PostgresServer, startPostgres } from "../../support/postgres.js";

/** Every version in which some table changes, the one before the newest, and the newest. */
const versions = [...new Set([...tableNames.flatMap(schemaVersions), 115, 116])].sort((a, b) => a - b);
const schemasAt = (version: number) => tableNames.map((table) => tableSchema(table, version));

function createAll(version: number, dialect: SqlDialect, options?: SqlOptions): string[] {
  const schemas = schemasAt(version);
  return [...createTypesSql(schemas, dialect), ...schemas.map((schema) => createTableSql(schema, dialect, options))];
}

/** What a database says about the tables in it. */
interface Catalog {
  readonly columns: readonly (readonly unknown[])[];
  readonly keys: readonly (readonly unknown[])[];
}

interface Database {
  run(statement: string): Promise<unknown>;
  rows(query: string): Promise<unknown[][]>;
  catalog(): Promise<Catalog>;
}

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const PG_COLUMNS = `
  SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY c.relname, a.attnum`;
const PG_KEYS = `
  SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
  WHERE contype = 'p' AND connamespace = 'public'::regnamespace ORDER BY 1`;

function inPostgres<T>(use: (database: Database) => Promise<T>): Promise<T> {
  return server.withDatabase(async (client) => {
    const rows = async (text: string) => (await client.query({ text, rowMode: "array" })).rows;
    return use({
      run: (statement) => client.query(statement),
      rows,
      catalog: async () => ({ columns: await rows(PG_COLUMNS), keys: await rows(PG_KEYS) }),
    });
  });
}

const DUCKDB_COLUMNS = `
  SELECT table_name, column_name, data_type, NOT is_nullable FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index`;
const DUCKDB_KEYS = `
  SELECT table_name, replace(constraint_text, 'KEY(', 'KEY (') FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY' ORDER BY 1`;

async function inDuckDb<T>(use: (database: Database) => Promise<T>): Promise<T> {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
  try {
    return await use({
      run: (statement) => connection.run(statement),
      rows,
      catalog: async () => ({ columns: await rows(DUCKDB_COLUMNS), keys: await rows(DUCKDB_KEYS) }),
    });
  } finally {
    connection.closeSync();
  }
}

async function runAll(database: Database, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    await database.run(statement);
  }
}

type Column = TableSchema["columns"][number];

/** What the catalog is to say, by the columns that store a column, and by their types as the database calls them. */
function expectedCatalog(
  schemas: readonly TableSchema[],
  stored: (column: Column, table: string) => readonly (readonly [name: string, type: string])[],
  options: SqlOptions = {},
): Catalog {
  const sorted = [...schemas].sort((a, b) => (a.table < b.table ? -1 : 1));
  return {
    columns: sorted.flatMap(({ table, columns }) =>
      columns.flatMap((column) => {
        const required = !column.nullable && !(options.addedNullable === true && column.since > 1);
        return stored(column, table).map(([name, type]): Catalog["columns"][number] => [table, name, type, required]);
      }),
    ),
    keys: sorted.map(({ table, key }) => [table, `PRIMARY KEY (${key.join(", ")})`]),
  };
}

/** Types that PostgreSQL calls by another name. */
const PG_NAMES: Record<string, string> = {
  int2: "smallint",
  int4: "integer",
  int8: "bigint",
  bool: "boolean",
  float8: "double precision",
  timestamptz: "timestamp with time zone",
};
const inPg = ({ name, type }: Column) => [[name, PG_NAMES[type] ?? type]] as const;

const DUCKDB_NAMES: Record<string, string> = {
  int2: "SMALLINT",
  int4: "INTEGER",
  int8: "BIGINT",
  hugeint: "DECIMAL(38,0)",
  float8: "DOUBLE",
  bool: "BOOLEAN",
  text: "VARCHAR",
  bytea: "BLOB",
  timestamptz: "TIMESTAMP WITH TIME ZONE",
  jsonb: "JSON",
};
/** Amounts that anyone can set to up to 2^256 - 1: see docs/sync-files.md. */
const ANY_SIZE =
  /^(orders\.(price|pegged_offset)|liquidity_provisions\.commitment_amount|markets\.tick_size|market_data\.(mark|mid|static_mid|indicative|best_bid|best_offer|best_static_bid|best_static_offer)_price)$/;
const inDuck = ({ name, type, values }: Column, table: string) => {
  if (values !== undefined) {
    return [[name, `ENUM(${values.map((value) => `'${value}'`).join(", ")})`]] as const;
  }
  return type.startsWith("numeric") || ANY_SIZE.test(`${table}.${name}`)
    ? ([
        [name, "DOUBLE"],
        [`${name}_text`, "VARCHAR"],
      ] as const)
    : ([[name, DUCKDB_NAMES[type] ?? type]] as const);
};

describe.each([
  { dialect: "postgres" as const, inDatabase: inPostgres, stored: inPg, most: `1${"0".repeat(998)}1` },
  { dialect: "duckdb" as const, inDatabase: inDuckDb, stored: inDuck, most: "9".repeat(38) },
])("SQL for $dialect", ({ dialect, inDatabase, stored, most }) => {
  it.each(versions)("makes all tables of version %d", (version) =>
    inDatabase(async (database) => {
      await runAll(database, createAll(version, dialect));
      expect(await database.catalog()).toEqual(expectedCatalog(schemasAt(version), stored));
    }),
  );

  it.each([
    ["step by step", versions],
    ["at once", [1, 116]],
    ["from the renamed columns on", [3, 116]],
  ])("changes the tables to those of the newest version, %s", (_, steps) =>
    inDatabase(async (database) => {
      await runAll(database, createAll(steps[0] ?? 1, dialect));
      for (const [index, to] of steps.slice(1).entries()) {
        await runAll(database, alterTablesSql(tableNames, { from: steps[index] ?? 1, to }, dialect));
        expect(await database.catalog()).toEqual(expectedCatalog(schemasAt(to), stored));
      }
    }),
  );

  it("changes tables that have rows where added columns may be NULL", () =>
    inDatabase(async (database) => {
      const options = { addedNullable: true };
      await runAll(database, createAll(1, dialect, options));
      const statements = alterTablesSql(["rewards"], { from: 1, to: 116 }, dialect, options);
      const values = tableSchema("rewards", 1).columns.map(({ holds }) =>
        holds === "time" ? "'2023-10-19 08:13:00+00'" : holds === "text" ? "'x'" : holds === "id" ? "'\\xAA'" : "1",
      );
      await database.run(`INSERT INTO rewards VALUES (${values.join(", ")})`);
      await runAll(database, statements);
      const { columns } = await database.catalog();
      expect(columns.filter(([table]) => table === "rewards")).toEqual(
        expectedCatalog([tableSchema("rewards", 116)], stored, options).columns,
      );
      await runAll(database, alterTablesSql(["trades"], { from: 1, to: 31 }, dialect));
    }));

  it("refuses to leave out what the network requires", () =>
    inDatabase(async (database) => {
      const schemas = [tableSchema("blocks", 116)];
      await runAll(database, [
        ...createTypesSql(schemas, dialect),
        ...schemas.map((schema) => createTableSql(schema, dialect)),
      ]);
      const insert = "INSERT INTO blocks VALUES ('2023-10-19 08:13:00.5+00', 1, '\\xAA')";
      await database.run(insert);
      await expect(database.run(insert)).rejects.toThrow(/key|unique|constraint/i);
      await expect(database.run("INSERT INTO blocks VALUES (now(), NULL, '\\xAA')")).rejects.toThrow(/null/i);
    }));

  it("keeps the largest amounts to the last digit", () =>
    inDatabase(async (database) => {
      const schemas = [tableSchema("balances", 116)];
      await runAll(database, [
        ...createTypesSql(schemas, dialect),
        ...schemas.map((schema) => createTableSql(schema, dialect)),
      ]);
      for (const [index, amount] of [most, `-${most}`, "20", "3"].entries()) {
        const values = `'\\xAA', '2023-10-19 08:13:0${index}+00', '\\xBB', '${amount}'`;
        await database.run(`INSERT INTO balances VALUES (${values})`);
      }
      const rows = await database.rows("SELECT balance::text FROM balances ORDER BY balances.balance");
      expect(rows).toEqual([[`-${most}`], ["3"], ["20"], [most]]);
    }));
});

describe("SQL for clickhouse", () => {
  it("makes tables without types of their own", () => {
    expect(createTypesSql(schemasAt(116), "clickhouse")).toEqual([]);
    expect(createTableSql(tableSchema("margin_levels", 116), "clickhouse")).toBe(`CREATE TABLE margin_levels (
  account_id String,
  timestamp DateTime64(6, 'UTC'),
  maintenance_margin Nullable(String),
  search_level Nullable(String),
  initial_margin Nullable(String),
  collateral_release_level Nullable(String),
  tx_hash String,
  vega_time DateTime64(6, 'UTC'),
  margin_mode LowCardinality(String),
  margin_factor String,
  order_margin String,
  order_margin_account_id Nullable(String)
)
ENGINE = ReplacingMergeTree
ORDER BY (vega_time, account_id)`);
  });

  it("changes tables", () => {
    expect(
      alterTablesSql(["orders", "margin_levels"], { from: 5, to: 77 }, "clickhouse", { addedNullable: true }),
    ).toEqual([
      "ALTER TABLE orders RENAME COLUMN initial_peak_size TO peak_size",
      "ALTER TABLE orders RENAME COLUMN minimum_peak_size TO minimum_visible_size",
      "ALTER TABLE margin_levels ADD COLUMN margin_mode LowCardinality(Nullable(String))",
      "ALTER TABLE margin_levels ADD COLUMN margin_factor Nullable(String)",
      "ALTER TABLE margin_levels ADD COLUMN order_margin Nullable(String)",
      "ALTER TABLE margin_levels ADD COLUMN order_margin_account_id Nullable(String)",
    ]);
  });
});

describe("changes between versions", () => {
  it("are none where the tables stay as they are", () => {
    expect(alterTablesSql(["trades"], { from: 31, to: 115n }, "postgres")).toEqual([]);
    expect(alterTablesSql(tableNames, { from: 116, to: 116 }, "postgres")).toEqual([]);
  });

  it("go forward only, between versions that are known", () => {
    expect(() => alterTablesSql(["trades"], { from: 31, to: 1 }, "postgres")).toThrow(RequestError);
    expect(() => alterTablesSql(["trades"], { from: 31, to: 1 }, "postgres")).toThrow(
      /from version 31 to the older version 1/,
    );
    expect(() => alterTablesSql(["trades"], { from: 31, to: 117 }, "postgres")).toThrow(
      /newer than the newest known version 116/,
    );
  });
});
