import { expect, test } from "@jest/globals";
import { compilerErrors } from "../../support/compiler-errors.js";

const grpc = 'grpc: { url: "http://127.0.0.1:3007" }';

/** Configurations, and the compiler's error in each. */
const cases: readonly (readonly [config: string, error?: RegExp])[] = [
  // The compiler suggests nothing for swapped letters in a short name. At run time, the error does.
  ['{ grpc: { ulr: "http://127.0.0.1:3007" } }', /'ulr' does not exist in type 'EndpointInput<GrpcConfig>'\.$/],
  ['{ grpc: { urll: "http://127.0.0.1:3007" } }', /'urll' does not exist .* Did you mean to write 'url'\?$/],
  [`{ ${grpc}, timeout: {} }`, /'timeout' does not exist .* Did you mean to write 'timeouts'\?$/],
  [`{ ${grpc}, timeouts: { calMs: 1 } }`, /'calMs' does not exist .* Did you mean to write 'callMs'\?$/],
  ['{ transport: "auto" }', / to parameter of type 'ClientConfig'\.\n.*\n *Property 'rest' is missing/],
  [`{ ${grpc} }`],
  ["loaded"],
  [`{ ...loaded, ${grpc} }`],
];

test("the compiler names the nearest key of a configuration", () => {
  const [, , ...found] = compilerErrors([
    'import { type Config, createClient } from "tradewire";',
    "declare const loaded: Config;",
    ...cases.map(([config]) => `createClient(${config});`),
  ]);
  expect(found).toEqual(cases.map(([, error]) => (error === undefined ? [] : [expect.stringMatching(error)])));
});
