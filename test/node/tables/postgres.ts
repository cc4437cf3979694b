import { PGlite } from "@electric-sql/pglite";
import { type TableColumn, type TableName, tableSchema } from "tradewire";

/** A real PostgreSQL, in which an export table is made as the network has it. */
export interface Postgres {
  /** Load rows into a table that holds its primary key and its NOT NULL columns, and write them again. */
  roundTrip(table: TableName, version: number, csv: string): Promise<string>;
  /** What PostgreSQL makes of texts, by an SQL expression of `value`. */
  ask(expression: string, values: readonly string[]): Promise<string[]>;
  close(): Promise<void>;
}

/** Start PostgreSQL with the network's own types. */
export async function openPostgres(): Promise<Postgres> {
  const pg = await PGlite.create({ postgresqlconf: ["shared_buffers = 8MB", "timezone = 'UTC'"] });
  await pg.exec("CREATE DOMAIN hugeint AS numeric(1000,0)");
  const types = new Set<string>();
  return {
    async roundTrip(table, version, csv) {
      const { columns, key } = tableSchema(table, version);
      for (const { type, values } of columns) {
        if (values !== undefined && !types.has(type)) {
          types.add(type);
          await pg.exec(`CREATE TYPE ${type} AS ENUM (${values.map((value) => `'${value}'`).join(", ")})`);
        }
      }
      const definitions = columns.map(
        ({ name, type, nullable }: TableColumn) => `"${name}" ${type} ${nullable ? "" : "NOT NULL"}`,
      );
      await pg.exec(`DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (${definitions}, PRIMARY KEY (${key}))`);
      await pg.query(`COPY ${table} FROM '/dev/blob' (FORMAT csv)`, [], { blob: new Blob([csv]) });
      const { blob } = await pg.query(`COPY (SELECT * FROM ${table} ORDER BY ${key}) TO '/dev/blob' (FORMAT csv)`);
      return blob === undefined ? "" : await blob.text();
    },
    async ask(expression, values) {
      const { rows } = await pg.query<{ text: string }>(
        `SELECT (${expression})::text AS text FROM unnest($1::text[]) WITH ORDINALITY AS given (value, place) ORDER BY place`,
        [[...values]],
      );
      return rows.map(({ text }) => text);
    },
    close: () => pg.close(),
  };
}
