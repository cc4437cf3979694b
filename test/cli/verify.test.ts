import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { run } from "../support/command.js";
import { serveNode } from "../support/node.js";
import { lastBlockAnswer, seed } from "../support/transactions.js";

const tied = lastBlockAnswer.height;
const pastBlocks = 100;

let node: Awaited<ReturnType<typeof serveNode>>;
let folder: string;
let signed: string;
/** The height of the node's last block. */
let height = tied;
const over = () => ["--transport", "grpc", "--grpc-url", node.grpcUrl, "--chain-id", lastBlockAnswer.chainId];

beforeAll(async () => {
  node = await serveNode(
    {},
    {
      lastBlockHeight: () => ({ ...lastBlockAnswer, height, spamPowNumberOfPastBlocks: pastBlocks }),
      getSpamStatistics: () => ({}),
    },
  );
  folder = await mkdtemp(join(tmpdir(), "tradewire-verify-"));
  const [key, command] = [join(folder, "key"), join(folder, "command.json")];
  await writeFile(key, `${seed}\n`, { mode: 0o600 });
  const vote = { proposalId: "0b".repeat(32), value: "VALUE_YES" };
  await writeFile(command, JSON.stringify({ voteSubmission: vote }));
  const made = await run(["sign", command, "--key-file", key, ...over()]);
  expect(made).toMatchObject({ code: 0 });
  signed = join(folder, "signed.json");
  await writeFile(signed, made.out);
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

/** What `verify` prints to standard output or to standard error, and its exit code. */
interface Printed {
  readonly code: number;
  readonly out?: RegExp;
  readonly err?: RegExp;
}

const notRecent = { code: 1, err: /blockHeight is 7, not one of the node's recent blocks up to \d+/ };

// v0.78.0 refuses a transaction once `spam.pow.numberOfPastBlocks` blocks have passed: `core/pow/engine.go`.
test.each<[string, number, Printed]>([
  ["the last block", 0, { code: 0, out: /^Valid: / }],
  [
    "the oldest block that counts, of which the node has no hash",
    pastBlocks - 1,
    { code: 3, out: /proof of work could not be checked: the node reports only the hash of its last block 106/ },
  ],
  ["a block that is too old", pastBlocks, notRecent],
  ["a block that the node does not have yet", -1, notRecent],
])("a transaction tied to %s", async (_, ahead, { code, out = /^$/, err = /^$/ }) => {
  height = tied + BigInt(ahead);
  expect(await run(["verify", signed, "-o", "table", ...over()])).toMatchObject({
    code,
    out: expect.stringMatching(out),
    err: expect.stringMatching(err),
  });
});
