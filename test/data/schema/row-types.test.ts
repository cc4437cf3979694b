import { describe, expect, it } from "@jest/globals";
import { rowInterface, rowJsonSchema, type TableName, tableNames, tableSchema } from "tradewire";
import ts from "typescript";
import { z } from "zod";

describe("a TypeScript interface of typed rows", () => {
  it("fits the types of the library, for every table", () => {
    const file = `${process.cwd()}/test/schema/generated-rows.ts`;
    const schemas = tableNames.map((table) => tableSchema(table, 116));
    const source = [
      `import type { TypedRow } from "tradewire";`,
      ...schemas.map(rowInterface),
      ...schemas.map((schema) => {
        const name = /interface (\w+)/.exec(rowInterface(schema))?.[1];
        return `export const ${schema.table}_fits = (row: ${name}): TypedRow<"${schema.table}"> => row;`;
      }),
      `export const wrong = (row: TradesRow): TypedRow<"orders"> => row;`,
    ].join("\n");
    const options = { strict: true, noEmit: true, skipLibCheck: true, types: [] };
    const { NodeNext } = ts.ModuleKind;
    const compiler = { ...options, module: NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
    const host = ts.createCompilerHost({ ...compiler, target: ts.ScriptTarget.ES2023 });
    const { getSourceFile, fileExists } = host;
    host.fileExists = (name) => name === file || fileExists(name);
    host.getSourceFile = (name, ...rest) =>
      name === file ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2023) : getSourceFile(name, ...rest);
    const program = ts.createProgram([file], { ...compiler, target: ts.ScriptTarget.ES2023 }, host);
    const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(file));
    const lines = found.map(({ start = 0 }) => source.slice(0, start).split("\n").length);
    expect(lines).toEqual([source.split("\n").length]); // Only the row that is of another table.
  });

  it("has the columns of its version", () => {
    expect(rowInterface(tableSchema("rewards", 72))).not.toContain("quantum_amount");
    expect(rowInterface(tableSchema("rewards", 73))).toContain("  quantum_amount: bigint;\n");
    expect(rowInterface(tableSchema("market_data", 1))).toContain("export interface MarketDataRow {\n");
    expect(rowInterface(tableSchema("trades", 1))).toContain(
      "  /** Price of the trade, in the market's price decimals. */\n  price: bigint;\n",
    );
    expect(rowInterface(tableSchema("orders", 1))).toContain(
      "/** Time at which the order expires, as ISO 8601 text with microseconds; 1970 or NULL if it does not. */\n",
    );
    expect(rowInterface(tableSchema("trades", 1))).toContain(
      `  aggressor: "SIDE_UNSPECIFIED" | "SIDE_BUY" | "SIDE_SELL" | bigint | null;\n`,
    );
  });
});

describe("a JSON Schema of typed rows", () => {
  const valid = (table: TableName, row: unknown) =>
    z.fromJSONSchema(rowJsonSchema(tableSchema(table, 116)) as z.core.JSONSchema.JSONSchema).safeParse(row).success;
  const reward = {
    party_id: "0aff",
    asset_id: "",
    market_id: "00",
    reward_type: "x",
    epoch_id: "12",
    amount: null,
    percent_of_total: 0.5,
    timestamp: "2023-10-19T08:13:00.123456Z",
    tx_hash: "00",
    vega_time: "2023-10-19T08:13:00.123456Z",
    seq_num: "1",
    locked_until_epoch_id: "-1",
    quantum_amount: "9".repeat(100),
    game_id: null,
  };

  it("takes rows of the table, and no others", () => {
    expect(valid("rewards", reward)).toBe(true);
    const { game_id, ...without } = reward;
    expect([game_id, valid("rewards", without)]).toEqual([null, false]);
    for (const wrong of [
      { further: "x" },
      { epoch_id: 12 },
      { epoch_id: null },
      { epoch_id: "1.5" },
      { party_id: "0A" },
      { percent_of_total: "0.5" },
      { vega_time: "yesterday" },
    ]) {
      expect([wrong, valid("rewards", { ...reward, ...wrong })]).toEqual([wrong, false]);
    }
  });

  it("names the values of enums and codes; a code may be a number too", () => {
    const { properties } = rowJsonSchema(tableSchema("orders", 116));
    expect(properties).toMatchObject({
      side: { anyOf: [{ enum: ["SIDE_UNSPECIFIED", "SIDE_BUY", "SIDE_SELL"] }, { pattern: "^-?[0-9]+$" }] },
      pegged_offset: { anyOf: [{ type: "string", pattern: "^-?[0-9]+$" }, { type: "null" }] },
      post_only: { type: "boolean" },
    });
    expect(rowJsonSchema(tableSchema("deposits", 1))["properties"]).toMatchObject({
      status: { type: "string", enum: expect.arrayContaining(["STATUS_OPEN", "STATUS_DUPLICATE_REJECTED"]) },
    });
  });
});
