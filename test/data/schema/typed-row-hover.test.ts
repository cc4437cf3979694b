import { join, resolve } from "node:path";
import { expect, test } from "@jest/globals";
import { rowInterface, schemaVersions, tableNames, tableSchema } from "tradewire";
import ts from "typescript";

const file = join(resolve("examples"), "hover.ts");

/** Returns a function that returns what an editor shows for a place in the program. */
function editor(program: string): (at: number) => { readonly type: string; readonly documentation: string } {
  const settings = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    strict: true,
    noErrorTruncation: true,
    skipLibCheck: true,
    types: [],
  };
  const read = (path: string) => (path === file ? program : ts.sys.readFile(path));
  const service = ts.createLanguageService({
    fileExists: (path) => read(path) !== undefined,
    readFile: read,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot(path) {
      const text = read(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCompilationSettings: () => settings,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getCurrentDirectory: () => resolve("examples"),
  });
  expect(service.getSemanticDiagnostics(file).map(({ messageText }) => messageText)).toEqual([]);
  return (at) => {
    const info = service.getQuickInfoAtPosition(file, at);
    return {
      type: ts.displayPartsToString(info?.displayParts),
      documentation: ts.displayPartsToString(info?.documentation),
    };
  };
}

test("editors show the names of types, not their expansion", () => {
  const program = `import { createClient } from "tradewire";
const client = createClient({ grpc: { url: "http://127.0.0.1:3007" } });
const trades = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 1000 });
for await (const row of trades.rows({ typed: true })) row.price;
const saved = await trades.saveTo("archives/");
for await (const event of client.events()) event;
const units = await client.marketUnits("id");
`;
  const shown = editor(program);
  const types = ["trades =", "row of", "price", "saved", "event of", "units"];
  expect(types.map((text) => shown(program.indexOf(text)).type)).toEqual([
    'const trades: NetworkHistoryExport<"trades">',
    'const row: TableRow<"trades">',
    "(property) price: bigint",
    "const saved: SavedExport",
    "const event: LiveEvent",
    "const units: MarketUnits",
  ]);
});

test("editors show what a column holds, in rows of all versions as in one version's (npm run generate)", () => {
  const columns = tableNames.flatMap((table) => {
    const schemas = schemaVersions(table).map((version) => tableSchema(table, version));
    const newest = new Map(
      schemas.flatMap((schema) => schema.columns.map((column) => [column.name, { schema, column }])),
    );
    return [...newest.values()].map(({ schema: { version }, column }) => ({ table, version, ...column }));
  });
  const versions = new Map(columns.map(({ table, version }) => [`${table}${version}`, tableSchema(table, version)]));
  const declared = [...versions].flatMap(([row, schema]) => {
    const source = rowInterface(schema);
    const name = /interface (\w+)/.exec(source)?.[1];
    return [`namespace of_${row} { ${source} }`, `declare const ${row}: of_${row}.${name};`];
  });
  const program = [
    'import type { TypedRow } from "tradewire";',
    ...tableNames.map((table) => `declare const ${table}: TypedRow<"${table}">;`),
    ...declared,
    ...columns.map(({ table, version, name }) => `${table}.${name}; ${table}${version}.${name};`),
  ].join("\n");
  const shown = editor(program);
  const hover = (row: string, name: string) => {
    const { type, documentation } = shown(program.indexOf(`${row}.${name};`) + row.length + 1);
    return { type: type.replace(/(\w+\.)+|\?|\| (null|undefined)\b| /g, ""), documentation };
  };
  const found = columns.map(({ table, name }) => ({ table, name, ...hover(table, name) }));
  const expected = columns.map(({ table, version, name }) => ({ table, name, ...hover(`${table}${version}`, name) }));
  expect(found).toEqual(expected);
  expect(found.filter(({ documentation }) => !/^[A-Z].*\w\.$/.test(documentation))).toEqual([]);
  expect(found.length).toBe(243);
});
