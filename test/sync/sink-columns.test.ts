import { describe, expect, it } from "@jest/globals";
import { createTableSql, schemaVersions, tableNames, tableSchema } from "tradewire";
import { FROM_BLOCK, SinkError, sinkColumns, targetOf } from "tradewire/sync";
import { assertAddable, identifier, sinkSchema } from "../../src/sync/sink-columns.js";

describe("the columns of a sink's table", () => {
  it("are those of the newest version first, in their order", () => {
    for (const table of tableNames) {
      const newest = tableSchema(table, 116).columns.map(({ name }) => name);
      expect(
        sinkColumns(table)
          .slice(0, newest.length)
          .map(({ name }) => name),
      ).toEqual(newest);
    }
  });

  it("take every column of every version, each its own", () => {
    for (const table of tableNames) {
      for (const version of schemaVersions(table)) {
        const targets = tableSchema(table, version).columns.map(({ name }) => targetOf(table, name)?.name);
        expect(targets).not.toContain(undefined);
        expect(new Set(targets).size).toBe(targets.length);
      }
    }
  });

  it("have a renamed column once, by its newest name", () => {
    const names = sinkColumns("orders").map(({ name }) => name);
    expect(names.slice(-3)).toEqual(["reserved_remaining", "peak_size", "minimum_visible_size"]);
    expect(targetOf("orders", "initial_peak_size")?.name).toBe("peak_size");
    expect(targetOf("orders", "minimum_peak_size")?.name).toBe("minimum_visible_size");
    expect(targetOf("orders", "peak_size")?.name).toBe("peak_size");
    expect(targetOf("orders", "peak")).toBeUndefined();
  });

  it("may be NULL unless every version has the column and never NULL", () => {
    for (const table of tableNames) {
      for (const { name, nullable } of sinkColumns(table)) {
        const inAll = schemaVersions(table).every((version) =>
          tableSchema(table, version).columns.some(
            (column) => targetOf(table, column.name)?.name === name && !column.nullable,
          ),
        );
        expect([table, name, nullable]).toEqual([table, name, !inAll]);
      }
    }
    expect(sinkColumns("trades").find(({ name }) => name === "buyer_treasury_fee")?.nullable).toBe(true);
    expect(sinkColumns("trades").find(({ name }) => name === "price")?.nullable).toBe(false);
  });

  it("make a statement with the table's key", () => {
    const statement = createTableSql(sinkSchema("orders"), "postgres");
    expect(statement).toContain("\n  peak_size int8,");
    expect(statement).toContain("\n  price hugeint NOT NULL,");
    expect(statement).toContain("PRIMARY KEY (vega_time, seq_num)");
    expect(statement).not.toContain("initial_peak_size");
  });
});

describe("a column that is not known", () => {
  it.each(["fee", 'a"b', "ä".repeat(31), "x".repeat(63)])("may be called %j", (name) => {
    expect(() => assertAddable("trades", name)).not.toThrow();
  });

  it.each(["", "x".repeat(64), "ä".repeat(32), "a\0b", FROM_BLOCK, "_FROM_BLOCK"])("may not be called %j", (name) => {
    expect(() => assertAddable("trades", name)).toThrow(SinkError);
  });

  it("is quoted", () => {
    expect(identifier('a"; DROP TABLE "b')).toBe('"a""; DROP TABLE ""b"');
  });
});
