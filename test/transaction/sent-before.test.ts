import { describe, expect, test } from "@jest/globals";
import { SubmitTransactionRequest_Type } from "../../gen/vega/api/v1/core_pb.js";
import { createClient } from "../../src/client.js";
import { startDevnode } from "../../src/devnode/index.js";
import { ConnectionError, OutcomeUnknownError, TransactionError } from "../../src/errors/index.js";
import { transactionHash } from "../../src/transaction/transaction-hash.js";
import { sender, stopOrder } from "../support/transactions.js";

const txHash = "AB".repeat(32);
const refusal = (data: string, hash = txHash) =>
  new TransactionError({ success: false, txHash: hash, code: 89, data, log: "", height: 0n });

describe("a refusal of what was sent before", () => {
  test.each([
    "proof of work tid already seen by the node",
    "proof of work tid already seen",
    "proof of work tid already used",
    "Proof of work tid already used",
    "transaction ID already used",
    "unknown block height",
    "block height is too old",
    '{"tx.pow.tid":["was used by another transaction"]}',
    '{"tx.inputData.nonce":["was used by another transaction of tx.pubKey"]}',
    '{"tx.inputData.blockHeight":["is 5, not one of the blocks 100 to 200"]}',
  ])("says that the first may have been taken, and where to look: %s", (data) => {
    const error = refusal(data);
    expect(error.mayHaveBeenTaken).toBe(true);
    expect(error.message).toContain("the network refused the transaction (code 89)");
    expect(error.message).toContain(
      `An earlier submission of this very transaction, hash ${txHash}, may have been taken`,
    );
    expect(error.message).toContain("before you make another");
    expect(error.message).not.toContain("Nothing of it will be carried out");
    expect(error.toJSON()).toMatchObject({ mayHaveBeenTaken: true });
  });

  test("shows no hash that is none", () => {
    for (const hash of ["", "\u001b[2J", "A".repeat(1000)]) {
      expect(refusal("proof of work tid already seen", hash).advice).toMatch(/very transaction may have been taken/);
    }
  });

  test.each([
    "order_submission.size (size is too large)",
    "failed to verify proof of work",
    '{"tx.pow.tid":["is required"]}',
    '{"tx.pow.nonce":["is no proof of work of difficulty 15 for tx.pow.tid and block 7"]}',
    '{"tx.inputData.blockHeight":["is that of a block that has served its transactions of tx.pubKey"]}',
    "",
  ])("is not any other: %j", (data) => {
    const error = refusal(data);
    expect(error.mayHaveBeenTaken).toBe(false);
    expect(error.advice).toContain("Nothing of it will be carried out");
  });
});

describe("the problems of a refusal", () => {
  test.each<[string, object[]]>([
    [
      '{"tx.version":["is wrong","is old"]}',
      [
        { path: "tx.version", message: "is wrong" },
        { path: "tx.version", message: "is old" },
      ],
    ],
    ["order_submission.size (size is too large)", [{ path: "orderSubmission.size", message: "size is too large" }]],
    [
      "order_submission.price (must be positive (or empty)),stop_orders_submission.rises_above.price (is required)",
      [
        { path: "orderSubmission.price", message: "must be positive (or empty)" },
        { path: "stopOrdersSubmission.risesAbove.price", message: "is required" },
      ],
    ],
    ["proof of work tid already seen", [{ path: "", message: "proof of work tid already seen" }]],
    ["", []],
    ['["x"]', [{ path: "", message: '["x"]' }]],
  ])("are read from %j", (data, problems) => {
    expect(refusal(data).problems).toEqual(problems);
  });

  test("are read in a moment from any text", () => {
    expect(refusal("a (".repeat(500_000)).problems).toHaveLength(1);
  });
});

test("at the local node: a transaction whose tid it has seen, and one that has become too old", async () => {
  await using node = await startDevnode({ segments: 1, blocksPerSegment: 1, blockMs: 0 });
  await using client = createClient({ transport: "rest", rest: { url: node.restUrl } });
  const tx = await client.signCommand(stopOrder(), { signer: sender });
  const hash = transactionHash(tx);
  expect(await client.checkTransaction(tx)).toMatchObject({ success: true });
  const again = () => client.submitTransaction({ tx, type: SubmitTransactionRequest_Type.SYNC });
  const says = { mayHaveBeenTaken: true, advice: expect.stringContaining(`hash ${hash}, may have been taken`) };
  await expect(again()).rejects.toMatchObject(says);
  for (let blocks = 0; blocks < 110; blocks += 1) {
    await node.makeBlock();
  }
  await expect(again()).rejects.toMatchObject(says);
});

test("where the outcome is unknown, it is told what a second submission's refusal would mean", () => {
  const lost = new ConnectionError("the connection was lost", { code: 14, advice: "Try again." });
  const { advice } = new OutcomeUnknownError(
    { txHash: "AB".repeat(32), tid: "t", publicKey: "k", signature: "s" },
    lost,
  );
  expect(advice).toMatch(/may be sent again.*refused as seen before or as too old.*may have been taken/);
});
