import { DuckDBInstance } from "@duckdb/node-api";
import { PGlite } from "@electric-sql/pglite";
import { describe, expect, it } from "@jest/globals";
import { tableNames } from "tradewire";
import { run } from "../support/command.js";

describe("tradewire schema", () => {
  it("lists the columns of a table", async () => {
    const { code, out } = await run(["schema", "--table", "orders", "--schema-version", "5", "-o", "table"]);
    expect(code).toBe(0);
    const lines = out.split("\n");
    expect(lines[0]).toBe("orders, schema version 5, key vega_time, seq_num");
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual(
      expect.arrayContaining([
        ["column", "type", "null", "holds", "since", "description"],
        ["side", "int2", "vega.Side", "Side of the order"],
        ["reference", "text", "null", "text", "Reference that the party gave to the order"],
        ["initial_peak_size", "int8", "null", "whole", "2, until 5", expect.stringMatching(/^Visible size to which/)],
      ]),
    );
    expect(lines).toHaveLength(2 + 28 + 1);
  });

  it("lists all tables of the newest version by default, and several that are named", async () => {
    const headings = async (...args: string[]) =>
      (await run(["schema", "-o", "table", ...args])).out.match(/^\w+(?=, schema version 116, key )/gm);
    expect(await headings()).toEqual(tableNames);
    expect(await headings("--table", "TABLE_TRADES", "--table", "Blocks")).toEqual(["trades", "blocks"]);
  });

  it("prints them as a JSON object", async () => {
    const { out } = await run(["schema", "--table", "blocks", "--json"]);
    const description = "Time of the block";
    const time = { name: "vega_time", description, type: "timestamptz", holds: "time", nullable: false, since: 1 };
    expect(JSON.parse(out)).toMatchObject({
      tables: [{ table: "blocks", version: 116, key: ["vega_time"], columns: [time, { name: "height" }, {}] }],
    });
  });

  it("prints scripts that PostgreSQL and DuckDB run as they are", async () => {
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    const postgres = await PGlite.create();
    const changing = ["--from-schema-version", "1", "--schema-version", "94", "--added-nullable"];
    for (const [dialect, execute] of [
      ["duckdb", (script: string) => connection.run(script)],
      ["postgres", (script: string) => postgres.exec(script)],
    ] as const) {
      const sql = async (...args: string[]) => (await run(["schema", "--dialect", dialect, ...args])).out;
      await execute(await sql("--schema-version", "1"));
      await execute(await sql(...changing));
      await expect(execute("SELECT tick_size, peak_size FROM markets, orders")).resolves.toBeDefined();
      await expect(Promise.resolve(execute("SELECT enable_tx_reordering FROM markets"))).rejects.toThrow();
    }
    connection.closeSync();
    await postgres.close();
  });

  it("prints SQL for ClickHouse, a JSON Schema, and TypeScript", async () => {
    const printed = async (dialect: string) => (await run(["schema", "--table", "blocks", "--dialect", dialect])).out;
    expect(await printed("clickhouse")).toBe(
      "CREATE TABLE blocks (\n  vega_time DateTime64(6, 'UTC'),\n  height Int64,\n  hash String\n)\nENGINE = ReplacingMergeTree\nORDER BY (vega_time);\n",
    );
    expect(JSON.parse(await printed("json-schema"))).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "blocks",
      required: ["vega_time", "height", "hash"],
      properties: { height: { description: "Height of the block" } },
    });
    expect(await printed("typescript")).toMatch(
      /^export interface BlocksRow \{\n.*\n {2}vega_time: string;\n {2}\/\*\* Height of the block\. \*\/\n {2}height: bigint;/m,
    );
    const { $defs } = JSON.parse((await run(["schema", "--dialect", "json-schema"])).out);
    expect(Object.keys($defs)).toEqual(tableNames);
  });

  it.each([
    [["--table", "trade"], /unknown table "trade"\nDid you mean trades\? Valid names: balances, /],
    [["--schema-version", "117"], /schema version 117 is newer than the newest known version 116\n/],
    [["--schema-version", "0"], /unknown schema version 0\n.*from 1 to 116/],
    [["--from-schema-version", "1"], /apply only to SQL\nAdd --dialect postgres/],
    [["--dialect", "typescript", "--added-nullable"], /apply only to SQL/],
    [
      ["--dialect", "duckdb", "--from-schema-version", "6", "--schema-version", "2"],
      /from version 6 to the older version 2/,
    ],
    [["--for-sync", "--from-schema-version", "6"], /cannot be used with/],
    [["--dialect", "oracle"], /Allowed choices are postgres, duckdb, clickhouse, json-schema, typescript/],
  ])("refuses %j", async (args, message) => {
    expect(await run(["schema", ...args])).toEqual({ code: 2, out: "", err: expect.stringMatching(message) });
  });

  it("lists the columns of the tables a line each in a pipe", async () => {
    const { out } = await run(["schema", "--table", "blocks"]);
    const rows = out.trimEnd().split("\n");
    expect(rows.map((row) => JSON.parse(row))).toMatchObject([
      { table: "blocks", name: "vega_time", type: "timestamptz" },
      { table: "blocks", name: "height" },
      { table: "blocks", name: "hash" },
    ]);
  });

  it("refuses --dialect beside --json, in JSON", async () => {
    const { code, out, err } = await run(["schema", "--dialect", "duckdb", "--json"]);
    expect([code, err]).toEqual([2, ""]);
    expect(JSON.parse(out)).toMatchObject({ error: { message: expect.stringContaining("cannot be used with") } });
  });
});
