import { join, resolve } from "node:path";
import ts from "typescript";

/** Compiles a program that uses the package. */
export function compilerErrors(lines: readonly string[]): (readonly string[])[] {
  const file = join(resolve("examples"), "compiled.ts");
  const source = lines.join("\n");
  const settings = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  };
  const host = ts.createCompilerHost(settings);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, source, settings.target) : getSourceFile(name, ...rest);
  const program = ts.createProgram([file], settings, host);
  const errors = lines.map((): string[] => []);
  for (const { start = 0, messageText } of ts.getPreEmitDiagnostics(program, program.getSourceFile(file))) {
    const line = source.slice(0, start).split("\n").length - 1;
    errors[line]?.push(ts.flattenDiagnosticMessageText(messageText, "\n"));
  }
  return errors;
}
