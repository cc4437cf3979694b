import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { startDevnode } from "tradewire/devnode";
import { shell } from "../support/command-process.js";
import { writePrivately } from "../support/private-file.js";
import { market, seed } from "../support/transactions.js";

const order = (marketId: string) => ({
  marketId,
  size: "1",
  side: "SIDE_BUY",
  timeInForce: "TIME_IN_FORCE_GTC",
  type: "TYPE_LIMIT",
  price: "1",
});

/** An order that the node takes, and rejects when it executes it. */
const expired = { ...order(market), timeInForce: "TIME_IN_FORCE_GTT", expiresAt: "1" };

test("submit --wait exits with 1 for a command that failed, also where nobody reads that", async () => {
  await using node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 100 });
  const folder = await mkdtemp(join(tmpdir(), "tradewire-outcomes-"));
  const keyFile = await writePrivately(folder, "key", `${seed}\n`);
  const bad = await writePrivately(folder, "bad.json", JSON.stringify({ orderSubmission: expired }));
  const script = '(tradewire "$@"; echo "code $?" >&2) | true';
  const signing = ["--key-file", keyFile, "--transport", "rest", "--rest-url", node.restUrl];
  const { err } = await shell(script, ["submit", bad, "--wait=300s", ...signing], folder);
  expect(err).toMatch(
    /^Submitting [0-9A-F]{64} to .*\n( {2}.*\n)+(Waiting .*\n)?tradewire: standard output: the reader has gone\nThe command continues, .*\ncode 1\n$/,
  );
  await rm(folder, { recursive: true });
});
