import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "@jest/globals";
import ts from "typescript";
import { type Example, readExamples } from "./doc-comments.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const examples = await readExamples(root);

/** The sources of the package's entries, by the names that users import. */
const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
const entries = new Map(
  Object.entries<{ types?: string } | string | null>(exports).flatMap(([path, entry]) =>
    typeof entry === "object" && entry?.types !== undefined && !path.includes("*")
      ? [[path.replace(".", "tradewire"), entry.types.replace("./dist/", root).replace(".d.ts", ".ts")]]
      : [],
  ),
);

/** What the examples take for granted. */
const given = ["given.js", "given-to-comments.ts"].map((name) => join(root, "test/docs", name));

/** As strict as the library itself, but that fragments need not use what they make, and types are imported as values are. */
function readOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);
  return {
    ...options,
    ...{ allowJs: true, declaration: false, noUnusedLocals: false, noPropertyAccessFromIndexSignature: false },
    ...{ isolatedModules: false, verbatimModuleSyntax: false },
    paths: Object.fromEntries([...entries].map(([name, file]) => [name, [file]])),
  };
}

/** The names that each file exports. */
function exportedBy(program: ts.Program, files: readonly string[]): Map<string, ReadonlySet<string>> {
  const checker = program.getTypeChecker();
  return new Map(
    files.map((file) => {
      const source = program.getSourceFile(file);
      const symbol = source && checker.getSymbolAtLocation(source);
      return [file, new Set(symbol && checker.getExportsOfModule(symbol).map(({ name }) => name))];
    }),
  );
}

const WORD = /[a-zA-Z_]\w*/g;

/** An example as a module. What it does not import is the package's, its own file's, or given. Its lines keep their numbers. */
function moduleOf({ file, line, code }: Example, exported: ReadonlyMap<string, ReadonlySet<string>>): string {
  const imports = [...code.matchAll(/^import .*$/gm)].join(" ");
  const imported: readonly string[] = imports.match(WORD) ?? [];
  const words = new Set(code.match(WORD)?.filter((word) => !imported.includes(word)));
  const own = [...entries.values(), join(root, file), ...given];
  const lines = own.map((source) => {
    const names = [...words].filter((word) => exported.get(source)?.has(word));
    for (const name of names) {
      words.delete(name);
    }
    return names.length === 0 ? "" : `import { ${names.join(", ")} } from "${source.replace(/\.ts$/, ".js")}"; `;
  });
  const rest = code.replaceAll(/^import .*$/gm, "");
  return `${lines.join("")}${imports} export {};${"\n".repeat(line - 1)}{ ${rest} }\n`; // In a block, names may be given ones.
}

/** Reads files once, and those that are made from memory. */
function createHost(options: ts.CompilerOptions, made: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const parsed = new Map<string, ts.SourceFile | undefined>();
  return {
    ...host,
    fileExists: (name) => made.has(name) || host.fileExists(name),
    getSourceFile(name, language) {
      if (!parsed.has(name)) {
        const text = made.get(name);
        const file = text === undefined ? host.getSourceFile(name, language) : undefined;
        parsed.set(name, text === undefined ? file : ts.createSourceFile(name, text, language));
      }
      return parsed.get(name);
    },
  };
}

function compile(): readonly ts.Diagnostic[] {
  const options = readOptions();
  const modules = new Map<string, string>();
  const host = createHost(options, modules);
  const sources = [...new Set([...entries.values(), ...examples.map(({ file }) => join(root, file)), ...given])];
  const program = ts.createProgram(sources, options, host);
  const exported = exportedBy(program, sources);
  for (const example of examples) {
    const name = `${example.file.replaceAll("/", "-")}:${example.line}.ts`;
    modules.set(join(root, "test", name), moduleOf(example, exported));
  }
  const whole = ts.createProgram([...sources, ...modules.keys()], options, host, program);
  return [...given, ...modules.keys()].flatMap((name) => {
    const source = whole.getSourceFile(name);
    return [...whole.getSyntacticDiagnostics(source), ...whole.getSemanticDiagnostics(source)];
  });
}

it("the examples of doc comments compile", () => {
  expect(examples.length).toBeGreaterThan(100);
  const format = { getCurrentDirectory: () => root, getCanonicalFileName: String, getNewLine: () => "\n" };
  expect(ts.formatDiagnostics(compile(), format)).toBe("");
});
