// What the node answers to transactions that are checked, repeated, altered or too old, and to answers that get lost.
import assert from "node:assert/strict";
import { toBinary, toJson } from "@bufbuild/protobuf";
import { createTransaction, OutcomeUnknownError, TransactionSchema } from "tradewire";
import { CoreService } from "tradewire/api";
import { ask, nameOf } from "./asking.mjs";
import { TDAI } from "./network.mjs";
import { startProxy } from "./proxy.mjs";

const { checkTransaction, submitTransaction, checkRawTransaction, submitRawTransaction, getSpamStatistics } =
  CoreService.method;

const TAKEN = { success: true, code: 0 };
const refusal = (code, data) => ({ success: false, code, data });
const SEEN = refusal(89, /^proof of work tid already seen by the node$/);
/** The tid is in a block. */
const USED = refusal(89, /^proof of work tid already used$/);
/** The transaction is in the mempool, or in a block that came in between. */
const KNOWN = refusal(89, /^(proof of work tid already seen by the node|transaction hash already used)$/);
const WRONG_PROOF = refusal(89, /^failed to verify proof of work$/);

/** The longest time until a transaction whose answer was lost is in a block, in blocks. */
const BLOCKS_OF_LOST = 3n;

/** Make the cases. */
export function refusalCases(setting) {
  const { network, recording, market, report } = setting;
  const { coreGrpc } = network.clients;
  let number = 0;

  /** A transaction without effect, of alice; `block` alters the block that it is tied to. */
  async function make({ change = (block) => block, ...form } = {}) {
    const { alice, id } = await market();
    const last = await network.services.core.lastBlockHeight({});
    const { height, hash, spamPowDifficulty: difficulty, spamPowHashFunction: hashFunction } = last;
    // A block hash serves three transactions of a key: each case waits for its own block.
    await network.blocks(1);
    return createTransaction(
      { case: "stopOrdersCancellation", value: { marketId: id } },
      {
        signer: alice,
        chainIdPrefix: "signature-only",
        block: change({ chainId: network.chainId, height, hash, difficulty, hashFunction }),
        ...form,
      },
    );
  }

  /** Call the core, and keep what it answers. */
  async function call(name, method, request) {
    const result = await ask(coreGrpc, method, request);
    const json = toJson(method.input, { $typeName: method.input.typeName, ...request });
    number += 1;
    recording.keep("refusals", {
      name: `${number} ${name}`,
      node: "core",
      method: nameOf(method),
      request: json,
      ...result,
    });
    return result;
  }
  const check = (name, tx) => call(name, checkTransaction, { tx });
  const submit = (name, tx, type = 2) => call(name, submitTransaction, { tx, type });

  const checks = {
    async "checked, checked again, submitted"() {
      const tx = await make();
      verdict(await check("check", tx), TAKEN);
      verdict(await check("check again", tx), SEEN);
      verdict(await submit("submit what was checked", tx), SEEN);
    },
    async "submitted, submitted again at once, checked, submitted after a block"() {
      const tx = await make();
      verdict(await submit("submit", tx), TAKEN);
      const { error } = await submit("submit again at once", tx);
      assert.equal(error?.code, 13);
      assert.equal(error.details[0].message, "tx already exists in cache");
      verdict(await check("check what was submitted", tx), KNOWN);
      await network.blocks(3);
      // CometBFT's cache may still have it, or the core says that a block has it.
      const later = await submit("submit again after a block", tx);
      if (later.error === undefined) {
        verdict(later, refusal(89, /^transaction hash already used$/));
      } else {
        assert.equal(later.error.details[0].message, "tx already exists in cache");
      }
    },
    async "the same tid again"() {
      const tid = "ab".repeat(28) + network.run;
      verdict(await submit("submit with a tid", await make({ tid })), TAKEN);
      verdict(await submit("another transaction with the same tid", await make({ tid })), USED);
    },
    async "a wrong proof of work, then the right one"() {
      const tx = await make();
      const wrong = { ...tx, pow: { ...tx.pow, nonce: tx.pow.nonce + 1n } };
      verdict(await submit("wrong proof of work", wrong), WRONG_PROOF);
      verdict(await submit("right proof of work after it", tx), SEEN);
    },
    async "no proof of work"() {
      verdict(await submit("no proof of work", { ...(await make()), pow: undefined }), WRONG_PROOF);
    },
    async "a wrong signature"() {
      const tx = await make();
      const altered = { ...tx.signature, value: "00".repeat(64) };
      const refused = refusal(60, /^tx\.signature\.value \(invalid signature\)$/);
      verdict(await submit("wrong signature", { ...tx, signature: altered }), refused);
    },
    async "the chain's identifier submitted with the input"() {
      const tx = await make({ chainIdPrefix: "signed-and-submitted" });
      verdict(await submit("prefix submitted", tx), refusal(60, /^tx\.input_data \(couldn't unmarshall input data/));
    },
    async "version 2"() {
      verdict(await submit("version 2", await make({ version: "TX_VERSION_V2" })), TAKEN);
    },
    async "the first block"() {
      const tx = await make({ change: (block) => ({ ...block, height: 1n }) });
      verdict(await submit("block 1", tx), refusal(89, /^transaction too old$/));
    },
    async "a block to come"() {
      const tx = await make({ change: (block) => ({ ...block, height: block.height + 1000n }) });
      verdict(await submit("block to come", tx), refusal(89, /^unknown block height for tx:/));
    },
    async "bytes that are no transaction"() {
      const tx = new Uint8Array([1, 2, 3]);
      const submitted = await call("submit bytes", submitRawTransaction, { tx, type: 2 });
      assert.equal(submitted.answer.success, true);
      assert.equal(submitted.answer.code, 60);
      const checked = await call("check bytes", checkRawTransaction, { tx });
      verdict(checked, refusal(60, /^unable to unmarshal transaction/));
    },
    async "no transaction"() {
      const { error } = await call("submit nothing", submitTransaction, { type: 2 });
      assert.equal(error?.details[0].message, "proto: Marshal called with nil");
    },
    async "whole transactions as bytes"() {
      const tx = toBinary(TransactionSchema, await make());
      const { answer } = await call("submit a serialized transaction", submitRawTransaction, { tx, type: 2 });
      assert.equal(answer.success, true);
    },
    async "asynchronous, with commit, without a type"() {
      for (const type of [1, 3, 0]) {
        verdict(await submit(`type ${type}`, await make(), type), TAKEN);
      }
    },
    async "spam statistics"() {
      const { publicKey: partyId } = network.signer("new");
      const { answer } = await call("spam statistics of a new key", getSpamStatistics, { partyId });
      assert.equal(answer.statistics.pow.blockStates.length, 1);
      const { error } = await call("spam statistics of nobody", getSpamStatistics, { partyId: "" });
      assert.equal(error?.details[0].message, "empty or missing party ID");
    },
  };

  /** What the client says of a transaction whose answer was cut, over a proxy. */
  async function lost(name, config, signal) {
    const { alice, bob } = await market();
    const [[transport, { url }]] = Object.entries(config);
    const proxy = await startProxy(url);
    let sentAt;
    const client = network.createClient(
      { transport, [transport]: { url: proxy.url } },
      {
        hooks: {
          onCallStart({ method }) {
            if (method.endsWith("/SubmitTransaction")) {
              proxy.cutNextAnswer();
              sentAt = network.height();
            }
          },
        },
      },
    );
    try {
      const value = {
        fromAccountType: 4,
        toAccountType: 4,
        to: bob.publicKey,
        asset: TDAI,
        amount: "777",
        reference: name,
        kind: { case: "oneOff", value: { deliverOn: 0n } },
      };
      const began = performance.now();
      const { txHash, outcome } = await client.sendCommand(
        { case: "transfer", value },
        { signer: alice, until: "executed", signal },
      );
      const took = Math.round(performance.now() - began);
      const now = await network.height();
      const before = await sentAt;
      report.figure(
        `lost answer, ${name}`,
        `${outcome.status} in block ${outcome.block}, ${(outcome.block ?? now) - before} blocks after it was sent, known after ${now - before} blocks (${took} ms)`,
      );
      assert.equal(outcome.status, "executed", `${outcome.reason}`);
      assert.ok(proxy.cuts === 1, "no answer was cut");
      const result = await network.bus.resultOf(txHash);
      assert.equal(outcome.block, BigInt(result.event.value === undefined ? 0 : result.id.split("-")[0]));
      assert.ok(outcome.block <= before + BLOCKS_OF_LOST, `block ${outcome.block}, sent at ${before}`);
    } finally {
      await client.close();
      proxy.close();
    }
  }

  /** The same without waiting: the error, and what comes of asking later. */
  async function lostThenAsked(signal) {
    const { alice, id } = await market();
    const proxy = await startProxy(network.urls.dataGrpc);
    const client = network.createClient(
      { transport: "grpc", grpc: { url: proxy.url } },
      {
        hooks: {
          onCallStart: ({ method }) => method.endsWith("/SubmitTransaction") && proxy.cutNextAnswer(),
        },
      },
    );
    try {
      const value = { marketId: id, side: 1, price: "9000000000", size: 1n, timeInForce: 1, type: 1 };
      const error = await client.sendCommand({ case: "orderSubmission", value }, { signer: alice, signal }).then(
        () => assert.fail("an answer came"),
        (reason) => reason,
      );
      assert.ok(error instanceof OutcomeUnknownError, `${error}`);
      await network.blocks(3);
      const { status, txHash } = await client.outcome(error);
      assert.equal(txHash, error.transaction.txHash);
      assert.equal(status, "executed");
    } finally {
      await client.close();
      proxy.close();
    }
  }

  const { dataGrpc, dataRest } = network.urls;
  const cases = {
    ...checks,
    "a transfer whose answer is lost, over gRPC": (signal) => lost("gRPC", { grpc: { url: dataGrpc } }, signal),
    "a transfer whose answer is lost, over REST": (signal) => lost("REST", { rest: { url: dataRest } }, signal),
    "an order whose answer is lost, asked for later": lostThenAsked,
  };
  return Object.entries(cases).map(([name, run]) => ({ group: "refusals", name, check: run }));
}

/** Compare the answer to a submission or check. */
function verdict({ answer, error }, { success, code, data }) {
  assert.equal(error, undefined, JSON.stringify(error));
  assert.deepEqual({ success: answer.success, code: answer.code }, { success, code }, answer.data);
  if (data !== undefined) {
    assert.match(answer.data, data);
  }
}
