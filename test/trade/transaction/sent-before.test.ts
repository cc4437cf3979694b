import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import {
  ConnectionError,
  createClient,
  NodeError,
  OutcomeUnknownError,
  type Refusal,
  TransactionError,
  transactionHash,
} from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { SubmitTransactionRequest_Type } from "tradewire/gen/vega/api/v1/core_pb.js";
import { sender, stopOrder } from "../../support/transactions.js";

const txHash = "AB".repeat(32);
const refused = (code: number, data: string, hash = txHash) =>
  new TransactionError({ success: false, txHash: hash, code, data, log: "", height: 0n });
const refusal = (data: string, hash = txHash) => refused(89, data, hash);

/**
 * The texts of code 89 that a v0.78.0 core has: those of `core/pow/engine.go`, `core/processor/abci.go` and `core/spam/`;
 * and those of nodes that give their reasons by field.
 */
const texts: readonly [Refusal, string][] = [
  ["duplicate", "transaction hash already used"],
  ["duplicate", "delayed transaction already included in a block"],
  ["duplicate", "proof of work tid already used"],
  ["duplicate", "Proof of work tid already used"],
  ["duplicate", "transaction ID already used"],
  ["duplicate", "nonce already used by party"],
  ["duplicate", '{"tx.pow.tid":["was used by another transaction"]}'],
  ["duplicate", '{"tx.inputData.nonce":["was used by another transaction of tx.pubKey"]}'],
  ["seen", "proof of work tid already seen by the node"],
  ["seen", "proof of work tid already seen"],
  ["expired", "transaction too old"],
  ["expired", "unknown block height"],
  ["expired", "unknown block height for tx:ab12, command:Update Party Profile, party:cd34"],
  ["expired", '{"tx.inputData.blockHeight":["is 5, not one of the blocks 100 to 200"]}'],
  ["spam-unknown", "some new rule against spam"],
  ["spam-unknown", ""],
  ["spam", "failed to verify proof of work"],
  ["spam", "party has insufficient associated governance tokens in their staking account to submit votes"],
  ["spam", "party has already submitted the maximum number of updatePartyProfile requests per epoch"],
  ["spam", "party has already voted the maximum number of times per proposal per epoch"],
  ["spam", '{"tx.pow.tid":["is required"]}'],
  ["spam", '{"tx.pow.nonce":["must be a proof of work of difficulty 15 for tx.pow.tid and block 7"]}'],
];

describe("a refusal as spam", () => {
  test.each(texts)("is %s: %j", (kind, data) => {
    const error = refusal(data);
    const isHarmless = kind === "spam";
    expect(error).toMatchObject({ refusal: kind, mayHaveBeenTaken: !isHarmless });
    expect(error.toJSON()).toMatchObject({ refusal: kind, mayHaveBeenTaken: !isHarmless });
    expect(error.message).toContain("the network refused the transaction (code 89)");
    expect(error.advice.includes("The transaction will not be executed")).toBe(isHarmless);
    expect(error.advice.includes(`tradewire outcome ${txHash}`)).toBe(!isHarmless);
  });

  test("shows no hash that is none", () => {
    for (const hash of ["", "\u001b[2J", "A".repeat(1000)]) {
      expect(refusal("proof of work tid already seen", hash).advice).toMatch(
        / Look for its outcome before you sign another\.$/,
      );
    }
  });

  test("of a transaction that this client had checked is explained as the work of the check", () => {
    const result = {
      success: false,
      txHash,
      code: 89,
      data: "proof of work tid already seen by the node",
      log: "",
      height: 0n,
    };
    expect(new TransactionError(result, { wasChecked: true }).advice).toMatch(
      /^This client asked the node to check the transaction,/,
    );
  });
});

describe("another refusal", () => {
  test.each<[Refusal, number, string]>([
    ["invalid", 60, "order_submission.size (size is too large)"],
    ["invalid", 51, '{"orderSubmission.size":["is too large"]}'],
    ["not-executable", 70, "market does not exist"],
    ["invalid", 80, '{"tx.inputData.command":["is of an unknown kind"]}'],
  ])("is %s: code %d, %j", (kind, code, data) => {
    const error = refused(code, data);
    expect(error).toMatchObject({ refusal: kind, mayHaveBeenTaken: false });
    expect(error.advice).toContain("The transaction will not be executed");
  });

  // What a v0.78.0 core answers to input data with the chain's identifier in front.
  test.each([
    "tx.input_data (couldn't unmarshall input data: proto: cannot parse invalid wire-format data)",
    "tx.input_data.command (is required)",
  ])("names the profile that the node expects: %j", (data) => {
    const result = { success: false, txHash, code: 60, data, log: "", height: 0n };
    expect(new TransactionError(result, { isPrefixed: true })).toMatchObject({
      refusal: "profile",
      mayHaveBeenTaken: false,
      advice: expect.stringContaining("--profile deployed"),
    });
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
  const checkedBefore = {
    mayHaveBeenTaken: true,
    advice: expect.stringMatching(/^This client asked the node to check the transaction,/),
  };
  await expect(again()).rejects.toMatchObject(checkedBefore);
  for (let blocks = 0; blocks < 110; blocks += 1) {
    await node.makeBlock();
  }
  const expired = { mayHaveBeenTaken: true, advice: expect.stringContaining(`tradewire outcome ${hash}`) };
  await expect(again()).rejects.toMatchObject(expired);
});

test("an unknown outcome comes with the way to find it out, and what is safe meanwhile", () => {
  const lost = new ConnectionError("the connection was lost", { code: 14, advice: "Try again." });
  const identity = { txHash, tid: "t", publicKey: "k", signature: "s" };
  const { advice } = new OutcomeUnknownError(identity, lost);
  expect(advice).toContain(`tradewire outcome ${txHash}`);
  expect(advice).toContain("Resending this exact transaction is safe:");
});

test("a node that has the transaction in its cache has taken it", () => {
  // As a v0.78.0 core answers a second submission before the next block.
  const details = [
    { "@type": "type.googleapis.com/vega.ErrorDetail", code: 10_000, message: "tx already exists in cache", inner: "" },
  ];
  const cause = new NodeError({ code: Code.Internal, message: "Internal error", details });
  const identity = { txHash, tid: "t", publicKey: "k", signature: "s" };
  const error = new OutcomeUnknownError(identity, cause);
  expect(error.summary).toBe(`the node already has the transaction ${txHash}; its outcome is unknown`);
  expect(error.advice).toMatch(/^An earlier submission was accepted, and this one was ignored\./);
});
