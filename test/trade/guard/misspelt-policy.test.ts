import { expect, test } from "@jest/globals";
import { compilerErrors } from "../../support/compiler-errors.js";

/** Keys of policies, and the compiler's error in each. */
const cases: readonly (readonly [keys: string, error?: RegExp])[] = [
  ['commands: ["voteSubmision"]', /^Type '"voteSubmision"' is not assignable .* Did you mean '"voteSubmission"'\?$/],
  ['commands: ["orderSubmission"]', /^Type '"orderSubmission"' is not assignable to type 'PolicyCommand'/],
  ['comands: ["voteSubmission"]', / Did you mean to write 'commands'\?$/],
  ['mode: "reducing", transfers: true, commands: ["voteSubmission"]'],
];

test("the compiler names the nearest command and key of a policy", () => {
  const [, , ...found] = compilerErrors([
    'import type { Client, Signer } from "tradewire";',
    "declare const client: Client, signer: Signer;",
    ...cases.map(([keys]) => `void client.guard({ signer, policy: { maxOrdersPerMinute: 1, markets: {}, ${keys} } });`),
  ]);
  expect(found).toEqual(cases.map(([, error]) => (error === undefined ? [] : [expect.stringMatching(error)])));
});
