import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import {
  FIRST_SCHEMA_VERSION,
  NEWEST_SCHEMA_VERSION,
  RequestError,
  schemaVersions,
  type TableName,
  tableNames,
  tableSchema,
} from "tradewire";
import { file_vega_vega } from "tradewire/gen/vega/vega_pb.js";

/** The columns of each table by schema version, as they were read off the deployed network. */
const lines = readFileSync(new URL("v0.78.tsv", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => line.split("\t"));

function factsOf(kind: string, table: string): string[][] {
  return lines.filter(([first, second]) => first === kind && second === table).map((fields) => fields.slice(2));
}

function expectedColumns(table: string, version: number): string[][] {
  return factsOf("column", table)
    .filter(([from, to]) => Number(from) <= version && (to === "" || version <= Number(to)))
    .sort(([, , a], [, , b]) => Number(a) - Number(b))
    .map(([, , , name = "", type = "", notNull = ""]) => [name, type, notNull]);
}

/** The numbers and names of an enum, from the definitions of the whole interface. */
function wireNames(fullName: string): Record<string, string> {
  const { enums, messages } = file_vega_vega;
  const desc = [...enums, ...messages.flatMap(({ nestedEnums }) => nestedEnums)].find(
    ({ typeName }) => typeName === fullName,
  );
  return Object.fromEntries((desc?.values ?? []).map(({ number, name }) => [number, name]));
}

describe("tableSchema", () => {
  it.each(tableNames)("has the columns of %s as the network has them, in every version", (table) => {
    for (let version = FIRST_SCHEMA_VERSION; version <= NEWEST_SCHEMA_VERSION; version += 1) {
      const schema = tableSchema(table, version);
      expect(schema).toMatchObject({ table, version, key: factsOf("key", table)[0]?.[0]?.split(",") });
      expect(schema.columns.map(({ name, type, nullable }) => [name, type, nullable ? "" : "not null"])).toEqual(
        expectedColumns(table, version),
      );
    }
  });

  it("knows the tables, enums and codes of the network, and no others", () => {
    const columns = tableNames.flatMap((table) =>
      schemaVersions(table).flatMap((version) =>
        tableSchema(table, version).columns.map((column) => ({ table, ...column })),
      ),
    );
    const kinds = (kind: string) => lines.filter(([first]) => first === kind);
    expect(new Set(kinds("column").map(([, table]) => table))).toEqual(new Set(tableNames));
    const enums = columns.flatMap(({ type, values }) => (values === undefined ? [] : [[type, values.join()] as const]));
    expect(new Map(enums)).toEqual(new Map(kinds("enum").map(([, type = "", values = ""]) => [type, values])));
    const codes = columns.flatMap(({ table, name, code }) =>
      code === undefined ? [] : [[`${table}.${name}`, code] as const],
    );
    expect(new Map(codes)).toEqual(
      new Map(
        kinds("code").map(([, table, name, type = ""]) => [`${table}.${name}`, { enum: type, names: wireNames(type) }]),
      ),
    );
    expect(wireNames("vega.Side")).toEqual({ 0: "SIDE_UNSPECIFIED", 1: "SIDE_BUY", 2: "SIDE_SELL" });
  });

  it("says what the values of each type mean", () => {
    const columns = tableNames.flatMap((table) => tableSchema(table, NEWEST_SCHEMA_VERSION).columns);
    const meanings = [...new Set(columns.map(({ holds }) => holds))];
    const types = meanings.map((meaning) => [
      meaning,
      new Set(columns.filter(({ holds }) => holds === meaning).map(({ type }) => type)),
    ]);
    expect(Object.fromEntries(types)).toEqual({
      time: new Set(["timestamptz"]),
      id: new Set(["bytea"]),
      whole: new Set(["int4", "int8", "hugeint"]),
      decimal: new Set(["numeric", "numeric(1000,16)"]),
      number: new Set(["float8"]),
      flag: new Set(["bool"]),
      text: new Set(["text"]),
      json: new Set(["jsonb"]),
      code: new Set(["int2"]),
      enum: new Set(lines.filter(([kind]) => kind === "enum").map(([, type]) => type)),
    });
  });

  it("tells the versions in which a table changed, and the former names of its columns", () => {
    expect(schemaVersions("blocks")).toEqual([1]);
    expect(schemaVersions("trades")).toEqual([1, 31, 116]);
    expect(schemaVersions("orders")).toEqual([1, 2, 6]);
    expect(tableSchema("orders", 5n).columns.slice(-2)).toMatchObject([
      { name: "initial_peak_size", since: 2, until: 5 },
      { name: "minimum_peak_size", since: 2, until: 5 },
    ]);
    expect(tableSchema("orders", 6).columns.slice(-2)).toMatchObject([
      { name: "peak_size", since: 6, was: "initial_peak_size" },
      { name: "minimum_visible_size", since: 6, was: "minimum_peak_size" },
    ]);
  });

  it("takes the version as a number or as a bigint, as files carry it", () => {
    expect(tableSchema("trades", 31n)).toEqual(tableSchema("trades", 31));
    expect(tableSchema("trades", 31).columns).toHaveLength(34);
    expect(tableSchema("trades", 30n).columns).toHaveLength(22);
  });

  it.each([0, -1, 1.5, Number.NaN, 0n])("refuses %s, which is no version, and names the range", (version) => {
    expect(() => tableSchema("trades", version)).toThrow(RequestError);
    expect(() => tableSchema("trades", version)).toThrow(/from 1 to 116/);
  });

  it.each([117, 117n, 2 ** 60])("refuses version %s and says which is the newest one", (version) => {
    expect(() => tableSchema("trades", version)).toThrow(RequestError);
    expect(() => tableSchema("trades", version)).toThrow(
      /newer than the newest known version 116\n.*NEWEST_SCHEMA_VERSION/,
    );
  });

  it.each(["trade", "", "constructor", "TRADES"])("refuses the table %j and names those there are", (name) => {
    const table = name as TableName; // As a program without types would call it.
    expect(() => tableSchema(table, 1)).toThrow(RequestError);
    expect(() => schemaVersions(table)).toThrow(/balances, checkpoints/);
  });
});
