import { readFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";
import { readBlocks } from "./blocks.js";
import { readExamples } from "./doc-comments.js";

/** An example of a doc comment, or a program of a page of docs/, as a module that the compiler knows. */
export interface TypedExample {
  /** Where the example is, as a path from the root of the repository, and the number of its first line. */
  readonly place: string;
  /** The code as it is shown. */
  readonly code: string;
  /** The name of the module. */
  readonly module: string;
  /** Where the code begins in the module, in characters. The rest of the module has the same layout as the code. */
  readonly offset: number;
}

/** All examples, with the compiler that knows them. */
export interface TypedExamples {
  readonly examples: readonly TypedExample[];
  readonly service: ts.LanguageService;
  /** Returns the compiler's messages about the examples and about what they take for granted; empty if there are none. */
  compile(): string;
}

/** What the examples take for granted. */
const GIVEN = ["given.js", "given-to-comments.ts"];

/** What is said before a block on a page: the names that the block takes for granted. */
const GIVEN_NAMES = /^given: ([\w, ]+)/;

/** As strict as the library itself, but that fragments need not use what they make, and types are imported as values are. */
function readOptions(root: string, entries: ReadonlyMap<string, string>): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);
  return {
    ...options,
    ...{ allowJs: true, declaration: false, noUnusedLocals: false, noPropertyAccessFromIndexSignature: false },
    ...{ isolatedModules: false, verbatimModuleSyntax: false },
    paths: {
      ...Object.fromEntries([...entries].map(([name, file]) => [name, [file]])),
      "tradewire/gen/*": [join(root, "gen/*")],
    },
  };
}

/** Returns the sources of the package's entries, by the names that users import. */
async function readEntries(root: string): Promise<ReadonlyMap<string, string>> {
  const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  return new Map(
    Object.entries<{ types?: string } | string | null>(exports).flatMap(([path, entry]) =>
      typeof entry === "object" && entry?.types !== undefined && !path.includes("*")
        ? [[path.replace(".", "tradewire"), entry.types.replace("./dist/", root).replace(".d.ts", ".ts")]]
        : [],
    ),
  );
}

/** The names that each file exports. */
function exportedBy(
  program: ts.Program | undefined,
  files: readonly string[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const checker = program?.getTypeChecker();
  return new Map(
    files.map((file) => {
      const source = program?.getSourceFile(file);
      const symbol = source && checker?.getSymbolAtLocation(source);
      return [file, new Set(symbol && checker?.getExportsOfModule(symbol).map(({ name }) => name))];
    }),
  );
}

const WORD = /[a-zA-Z_]\w*/g;

/** Where each name that an example uses may come from, the nearest first. */
interface Sources {
  readonly files: readonly string[];
  readonly exported: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The first part of an example of a comment as a module: imports of what is the package's, its own file's, or given. */
function headOf(code: string, { files, exported }: Sources): string {
  const imports = [...code.matchAll(/^import .*$/gm)].join(" ");
  const imported: readonly string[] = imports.match(WORD) ?? [];
  const words = new Set(code.match(WORD)?.filter((word) => !imported.includes(word)));
  const lines = files.map((source) => {
    const names = [...words].filter((word) => exported.get(source)?.has(word));
    for (const name of names) {
      words.delete(name);
    }
    return names.length === 0 ? "" : `import { ${names.join(", ")} } from "${source.replace(/\.ts$/, ".js")}"; `;
  });
  return `${lines.join("")}${imports} export {};`;
}

/** Reads files once, and modules from memory. */
function createHost(
  options: ts.CompilerOptions,
  root: string,
  sources: readonly string[],
  modules: ReadonlyMap<string, string>,
): ts.LanguageServiceHost {
  return {
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    getProjectVersion: () => String(modules.size),
    getCompilationSettings: () => options,
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [...sources, ...modules.keys()],
    getScriptVersion: () => "1",
    fileExists: (name) => modules.has(name) || ts.sys.fileExists(name),
    getScriptSnapshot(name) {
      const text = modules.get(name) ?? ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
  };
}

/**
 * Read all examples of doc comments, and all programs of docs/ and of the README, and make them known to a compiler.
 */
export async function readTypedExamples(root: string): Promise<TypedExamples> {
  const [entries, blocks, comments] = await Promise.all([readEntries(root), readBlocks(root), readExamples(root)]);
  const given = GIVEN.map((name) => join(root, "test/docs", name));
  const options = readOptions(root, entries);
  const own = comments.map(({ file }) => join(root, file));
  const sources = [...new Set([...entries.values(), ...own, ...given])];
  const modules = new Map<string, string>();
  const service = ts.createLanguageService(createHost(options, root, sources, modules));
  const exported = exportedBy(service.getProgram(), sources);
  const moduleName = (path: string, line: number) => join(root, "test/docs", `${path.replaceAll("/", "-")}:${line}.ts`);
  const add = (place: string, module: string, code: string, head: string, text: string): TypedExample => {
    modules.set(module, text);
    return { place, code, module, offset: head.length };
  };
  const ofComments = comments.map(({ file, line, code }) => {
    const files = [...entries.values(), join(root, file), ...given];
    const head = `${headOf(code, { files, exported })}${"\n".repeat(line - 1)}{ `; // In a block, names may be given ones.
    const rest = code.replaceAll(/^import .*$/gm, (line) => " ".repeat(line.length));
    return add(`${file}:${line}`, moduleName(file, line), code, head, `${head}${rest} }\n`);
  });
  const ofPages = blocks
    .filter(({ language, note }) => (language === "ts" || language === "js") && note !== "run by a test of its own")
    .map(({ page, line, code, note }) => {
      const [, names] = GIVEN_NAMES.exec(note) ?? [];
      const imports = names === undefined ? "export {};" : `import { ${names} } from "./given.js";`;
      const head = `${imports}${"\n".repeat(line - 1)}`;
      return add(`${page}:${line}`, moduleName(page, line), code, head, `${head}${code}`);
    });
  const compile = () => {
    const messages = [...given, ...modules.keys()].flatMap((name) => [
      ...service.getSyntacticDiagnostics(name),
      ...service.getSemanticDiagnostics(name),
    ]);
    const format = { getCurrentDirectory: () => root, getCanonicalFileName: String, getNewLine: () => "\n" };
    return ts.formatDiagnostics(messages, format);
  };
  return { examples: [...ofComments, ...ofPages], service, compile };
}
