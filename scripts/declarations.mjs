// Puts the declarations that the entries lead to beside them, with maps to the sources, and the generated code of the whole
// interface, file by file. Declarations of what is inside stay behind, and with them the packages that they name.
import { cp, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import ts from "typescript";

const COMPILED = "compiled";
/** The generated code that users import; that of the client alone is in the bundle. */
const GENERATED = ["datanode", "google", "grpc", "vega"];

const { exports } = JSON.parse(await readFile("package.json", "utf8"));
const entries = Object.values(exports).flatMap((entry) => entry?.types ?? []);
const roots = entries.filter((types) => !types.includes("*")).map((types) => types.replace("./dist", COMPILED));
const program = ts.createProgram(roots, { module: ts.ModuleKind.NodeNext, types: [], noLib: true });
const needed = program.getSourceFiles().map(({ fileName }) => relative(COMPILED, fileName));
const files = needed.filter((path) => /^(src|gen)\//.test(path)).flatMap((path) => [path, `${path}.map`]);
for (const path of [...GENERATED.map((folder) => `gen/${folder}`), ...files]) {
  await cp(join(COMPILED, path), join("dist", path), { recursive: true });
}
