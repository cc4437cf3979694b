// Prints how large the project is, so that a change that should make it smaller can show it: `node scripts/figures.mjs`.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";

/** The rooms and their heights from the top: a room imports only lower ones. */
const ROOMS = { cli: 0, sync: 1, node: 1, client: 1, trade: 2, data: 3, wire: 4, base: 5 };

const git = (...args) => execFileSync("git", args, { encoding: "utf8" }).trim().split("\n");
const filesOf = (folder) => git("ls-files", folder).filter((name) => /\.(?:ts|mjs|cjs)$/.test(name));

/** Counts the lines of a file that have code, and those that have nothing but comments. */
function linesOf(file) {
  const text = readFileSync(file, "utf8");
  const all = text.split("\n").length - 1;
  const code = new Set();
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineOf = (at) => source.getLineAndCharacterOfPosition(at).line;
  const visit = (node) => {
    if (node.getChildCount(source) === 0 && node.kind !== ts.SyntaxKind.EndOfFileToken && node.getWidth(source) > 0) {
      for (let line = lineOf(node.getStart(source)); line <= lineOf(node.end - 1); line += 1) {
        code.add(line);
      }
    }
    for (const child of node.getChildren(source)) {
      if (child.kind < ts.SyntaxKind.FirstJSDocNode || child.kind > ts.SyntaxKind.LastJSDocNode) {
        visit(child);
      }
    }
  };
  visit(source);
  const blank = text
    .split("\n")
    .slice(0, -1)
    .filter((line, at) => line.trim() === "" && !code.has(at)).length;
  return { files: 1, lines: all, code: code.size, comments: all - code.size - blank };
}

function sizeOf(folder) {
  const total = { files: 0, lines: 0, code: 0, comments: 0 };
  for (const file of filesOf(folder)) {
    for (const [name, count] of Object.entries(linesOf(file))) {
      total[name] += count;
    }
  }
  return total;
}

/** The names of `package.json`'s entries, each once. */
function publicNames() {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
  const entries = Object.values(exports).flatMap((entry) => {
    const file = entry?.types?.replace(/^\.\/dist\/(src\/.*)\.d\.ts$/, "$1.ts");
    return file?.startsWith("src/") ? [file] : [];
  });
  const { config } = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ".");
  const program = ts.createProgram(entries, options);
  const checker = program.getTypeChecker();
  const names = entries.flatMap((entry) => {
    const symbol = checker.getSymbolAtLocation(program.getSourceFile(entry));
    return entry.endsWith("api/index.ts") ? [] : checker.getExportsOfModule(symbol).map(({ name }) => name);
  });
  return new Set(names).size;
}

/** The imports between the folders of `src/`: which know which, and which of them point upwards. */
function arrows() {
  const found = new Set();
  for (const file of filesOf("src")) {
    for (const [, name] of readFileSync(file, "utf8").matchAll(/(?:from|import\() ?"(\.[^"]*)"/g)) {
      const target = join(dirname(file), name);
      const [from = "", to = ""] = [file, target].map((path) => path.split("/")[1]);
      if (target.startsWith("src/") && from !== to && !from.endsWith(".ts") && !to.endsWith(".js")) {
        found.add(`${from} → ${to}`);
      }
    }
  }
  const upwards = [...found].filter((arrow) => {
    const [from, to] = arrow.split(" → ");
    return !(ROOMS[from] < ROOMS[to]);
  });
  return { arrows: found.size, upwards: upwards.length };
}

const words = (files) =>
  files.reduce((sum, file) => sum + readFileSync(file, "utf8").split(/\s+/).filter(Boolean).length, 0);
const pages = git("ls-files", "docs").filter((name) => /^docs\/[^/]+\.md$/.test(name));
const GENERATED = /^docs\/(?:command|configuration|errors|reference|api)\.md$/;
const written = [...pages.filter((name) => !GENERATED.test(name)), "README.md"];
const terms = ["docs/architecture.md", "CONTRIBUTING.md"].flatMap((file) => {
  const [, glossary = ""] = readFileSync(file, "utf8").split(/^## Glossary$/m);
  return glossary
    .split(/^## /m)[0]
    .split("\n")
    .filter((line) => /^(?:\| |- )\*\*|^\| `?[^-\s]/.test(line));
});
const folders = new Set(filesOf("src").map((file) => file.split("/")[1])).size - 1;

console.table({
  "entries in the root": git("ls-tree", "--name-only", "HEAD").length,
  "folders of src": folders,
  "of them rooms": Object.keys(ROOMS).filter((room) => filesOf(`src/${room}`).length > 0).length,
  ...arrows(),
  "public names": publicNames(),
  "terms of the glossary": terms.length,
  "pages of docs": pages.length,
  "words written by hand": words(written),
});
console.table({ src: sizeOf("src"), test: sizeOf("test"), bench: sizeOf("bench") });
