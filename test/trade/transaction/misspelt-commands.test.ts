import { expect, test } from "@jest/globals";
import { compilerErrors } from "../../support/compiler-errors.js";

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

const declarations = [
  'import type { Client, Guard, Intents, Leases, Signer } from "tradewire";',
  'import { type CommandSource, createTransaction } from "tradewire/transaction";',
  "declare const client: Client, guard: Guard, intents: Intents, leases: Leases, options: { signer: Signer };",
  "declare const form: Parameters<typeof createTransaction>[1], intent: Parameters<typeof intents.submit>[1];",
];

/** Returns the compiler's errors in each call with this command, by the call. */
const errorsOf = (command: string) =>
  compilerErrors([...declarations, ...calls.map((call) => call.replaceAll("COMMAND", command))]);
const expectAll = (errors: readonly unknown[]) => [...declarations.map(() => []), ...calls.map(() => errors)];

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
