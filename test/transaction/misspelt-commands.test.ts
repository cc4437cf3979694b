import { join, resolve } from "node:path";
import { expect, test } from "@jest/globals";
import ts from "typescript";

const calls = [
  "client.sendCommand(COMMAND, options);",
  'client.sendCommand(COMMAND, { ...options, until: "executed" });',
  "client.signCommand(COMMAND, options);",
  "createTransaction(COMMAND, form);",
  "guard.check(COMMAND);",
  "intents.submit(COMMAND, intent);",
  "leases.submit(COMMAND);",
  "const source: CommandSource = COMMAND;",
];

/** Returns the compiler's errors in each call with this command, by the call. */
function errorsOf(command: string): Record<string, readonly string[]> {
  const lines = [
    'import type { Client, Guard, Leases, Orders, Signer } from "tradewire";',
    'import { type CommandSource, createTransaction } from "tradewire/transaction";',
    "declare const client: Client, guard: Guard, intents: Orders, leases: Leases, options: { signer: Signer };",
    "declare const form: Parameters<typeof createTransaction>[1], intent: Parameters<typeof intents.submit>[1];",
    ...calls,
  ];
  const file = join(resolve("examples"), "misspelt.ts");
  const source = lines.join("\n").replaceAll("COMMAND", command);
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
  const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(file)).map(({ start = 0, messageText }) => ({
    line: lines[source.slice(0, start).split("\n").length - 1] ?? "",
    text: ts.flattenDiagnosticMessageText(messageText, "\n"),
  }));
  const foundLines = [...new Set([...found.map(({ line }) => line), ...calls])];
  return Object.fromEntries(
    foundLines.map((line) => [line, found.filter((error) => error.line === line).map(({ text }) => text)]),
  );
}

const expectAll = (errors: unknown) => Object.fromEntries(calls.map((call) => [call, errors]));

test("the compiler names the nearest command", () => {
  expect(errorsOf('{ case: "orderSubmision", value: {} }')).toEqual(
    expectAll([
      expect.stringMatching(/Type '"orderSubmision"' is not assignable .* Did you mean '"orderSubmission"'\?$/),
    ]),
  );
});

test("the compiler names the nearest field of a command", () => {
  const misspelt = expect.stringMatching(
    /'marketID' does not exist in type 'MessageInit<OrderSubmission>'\. Did you mean to write 'marketId'\?$/,
  );
  expect(errorsOf('{ case: "orderSubmission", value: { marketID: "" } }')).toEqual(expectAll([misspelt]));
});

test("commands and raw input data fit", () => {
  expect(errorsOf('{ case: "orderSubmission", value: { marketId: "" } }')).toEqual(expectAll([]));
  expect(errorsOf("{ inputData: new Uint8Array() }")).toEqual(expectAll([]));
});
