import { createTypesSql } from "../../../schema/sql.js";
import type { TableName } from "../../../schema/tables.js";
import { FROM_BLOCK, identifier, sinkSchema } from "../columns.js";
import { ledgerSql } from "./ledger.js";
import { keySql, newTableSql, unitIndexSql } from "./tables.js";

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
