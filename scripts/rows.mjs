// Writes the declarations of the typed rows, which are made of the facts about the tables, into a folder of generated code.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rowDeclarations } from "../src/data/schema/row-types.ts";

const folder = join(process.argv[2] ?? "gen", "tables");
await mkdir(folder, { recursive: true });
await writeFile(join(folder, "rows.ts"), rowDeclarations());
