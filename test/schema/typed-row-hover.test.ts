import { join, resolve } from "node:path";
import { expect, test } from "@jest/globals";
import ts from "typescript";

const program = `import { createClient } from "tradewire";
const client = createClient({ grpc: { url: "http://127.0.0.1:3007" } });
const trades = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 1000 });
for await (const row of trades.rows({ typed: true })) row.price;
const saved = await trades.saveTo("archives/");
for await (const event of client.events()) event;
const units = await client.marketUnits("id");
`;

test("editors show the names of types, not their expansion", () => {
  const file = join(resolve("examples"), "hover.ts");
  const settings = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
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
  const shown = (text: string) => {
    const info = service.getQuickInfoAtPosition(file, program.indexOf(text));
    return ts.displayPartsToString(info?.displayParts);
  };
  expect(["trades =", "row of", "price", "saved", "event of", "units"].map(shown)).toEqual([
    'const trades: NetworkHistoryExport<"trades">',
    'const row: TableRow<"trades">',
    "(property) price: bigint",
    "const saved: SavedExport",
    "const event: LiveEvent",
    "const units: MarketUnits",
  ]);
});
