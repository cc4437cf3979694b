import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  type BlockTask,
  type Client,
  createClient,
  signerFromSeed,
  solveProofOfWork as solve,
  verifyProofOfWork as verify,
} from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { SubmitTransactionRequest_Type } from "tradewire/gen/vega/api/v1/core_pb.js";
import { SignatureSchema } from "tradewire/gen/vega/commands/v1/signature_pb.js";
import { ProofOfWorkSchema, type Transaction } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { chainPrefix, craft, lastBlock, sender, stopOrder } from "../support/transactions.js";

/** A number that no enumeration has: over the wire any may come. */
const unknownNumber: number = 9;

let node: Devnode;
let client: Client;
beforeAll(async () => {
  node = await startDevnode({ chainId: "devnode-1", segments: 2, blocksPerSegment: 200, blockMs: 0 });
  client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
});
afterAll(async () => {
  await client.close();
  await node.close();
});

/** A new block, which was used by nothing yet. */
let block: BlockTask;
beforeEach(async () => {
  await node.makeBlock();
  block = await lastBlock(client);
});

function submit(tx: Transaction) {
  return client.submitTransaction({ tx, type: SubmitTransactionRequest_Type.SYNC }, { throwOnRejection: false });
}

/** A change to a good transaction, and the network's words for it, or how they begin. */
type Tampering = readonly [what: string, words: string, make: () => Promise<Transaction>];

const signature = (tx: Transaction, change: { algo?: string; value?: string; version?: number }): Transaction => ({
  ...tx,
  signature: Object.assign(create(SignatureSchema, tx.signature), change),
});
const signatureBytes = (tx: Transaction) => Buffer.from(tx.signature?.value ?? "", "hex");
const pow = (tx: Transaction, change: { tid?: string; nonce?: bigint }): Transaction => ({
  ...tx,
  pow: Object.assign(create(ProofOfWorkSchema, tx.pow), change),
});
const good = () => craft({ block });
const changed = (change: (tx: Transaction) => Transaction) => async () => change(await good());
const flipped = (bytes: Uint8Array, at: number) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));

/** The order of Ed25519's group: adding it to a signature's second half gives another that sloppy verifiers take. */
const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** A nonce that is a proof of work of one difficulty and not of another. */
function nonceBetween(tid: string, blockHash: string, difficulty: number, below: number): bigint {
  let nonce = 0n;
  const is = (bits: number) => verify({ blockHash, tid, nonce, difficulty: bits });
  while (!is(difficulty) || is(below)) {
    nonce += 1n;
  }
  return nonce;
}

const tamperings: readonly Tampering[] = [
  ["no version", "tx.version (is required)", changed((tx) => ({ ...tx, version: 0 }))],
  ["an unknown version", "tx.version (is not supported)", changed((tx) => ({ ...tx, version: unknownNumber }))],
  [
    "the older version, with the prefix",
    "tx.input_data (couldn't unmarshall input data: proto: cannot parse invalid wire-format data)",
    changed((tx) => ({ ...tx, version: 2 })),
  ],
  [
    "an address",
    "tx.from.pub_key (is required)",
    changed((tx) => ({ ...tx, from: { case: "address", value: sender.publicKey } })),
  ],
  ["no key", "tx.from (is required)", changed((tx) => ({ ...tx, from: { case: undefined } }))],
  [
    "a short key",
    "tx.from.pub_key (should be a valid vega public key)",
    changed((tx) => ({ ...tx, from: { case: "pubKey", value: sender.publicKey.slice(2) } })),
  ],
  [
    "a key in capitals",
    "tx.from.pub_key (should be a valid vega public key)",
    changed((tx) => ({ ...tx, from: { case: "pubKey", value: sender.publicKey.toUpperCase() } })),
  ],
  [
    "another's key",
    "tx.signature.value (invalid signature)",
    changed((tx) => ({ ...tx, from: { case: "pubKey", value: signerFromSeed("01".repeat(32)).publicKey } })),
  ],
  [
    "a key that is no point",
    "tx.signature.value (invalid signature)",
    changed((tx) => ({ ...tx, from: { case: "pubKey", value: "ff".repeat(32) } })),
  ],
  ["no signature", "tx.signature (is required)", changed(({ signature: _, ...tx }) => tx)],
  [
    "another algorithm",
    "tx.signature.algo (unsupported algorithm), tx.signature.version (unsupported algorithm)",
    changed((tx) => signature(tx, { algo: "ed25519" })),
  ],
  [
    "no algorithm",
    "tx.signature.algo (is required, unsupported algorithm), tx.signature.version (unsupported algorithm)",
    changed((tx) => signature(tx, { algo: "" })),
  ],
  [
    "another version of the algorithm",
    "tx.signature.algo (unsupported algorithm), tx.signature.version (unsupported algorithm)",
    changed((tx) => signature(tx, { version: 2 })),
  ],
  ["an empty signature", "tx.signature.value (is required)", changed((tx) => signature(tx, { value: "" }))],
  [
    "a signature that is no hex",
    "tx.signature.value (should be hex encoded)",
    changed((tx) => signature(tx, { value: "x".repeat(128) })),
  ],
  [
    "a short signature",
    "tx.signature.value (invalid signature)",
    changed((tx) => signature(tx, { value: tx.signature?.value.slice(2) ?? "" })),
  ],
  [
    "a flipped bit in the signature's first half",
    "tx.signature.value (invalid signature)",
    changed((tx) => signature(tx, { value: Buffer.from(flipped(signatureBytes(tx), 3)).toString("hex") })),
  ],
  [
    "a flipped bit in its second half",
    "tx.signature.value (invalid signature)",
    changed((tx) => signature(tx, { value: Buffer.from(flipped(signatureBytes(tx), 40)).toString("hex") })),
  ],
  [
    "the signature's other form",
    "tx.signature.value (invalid signature)",
    changed((tx) => {
      const bytes = signatureBytes(tx);
      const half = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString("hex")}`) + GROUP_ORDER;
      bytes.set(Buffer.from(half.toString(16).padStart(64, "0"), "hex").toReversed(), 32);
      return signature(tx, { value: bytes.toString("hex") });
    }),
  ],
  [
    "a signature without the prefix",
    "tx.signature.value (invalid signature)",
    () => craft({ block, signedPrefix: new Uint8Array() }),
  ],
  [
    "a signature for another chain",
    "tx.signature.value (invalid signature)",
    () => craft({ block, signedPrefix: chainPrefix("devnode-2") }),
  ],
  ["no input data", "tx.input_data (is required)", changed((tx) => ({ ...tx, inputData: new Uint8Array() }))],
  [
    "no prefix",
    "tx.input_data (has to begin with the chain's identifier devnode-1 and a zero byte)",
    () => craft({ block, submittedPrefix: new Uint8Array() }),
  ],
  [
    "another chain's prefix",
    "tx.input_data (has to begin with the chain's identifier devnode-1 and a zero byte)",
    () => craft({ block, signedPrefix: chainPrefix("devnode-2"), submittedPrefix: chainPrefix("devnode-2") }),
  ],
  [
    "a prefix without the zero byte",
    "tx.input_data (has to begin with the chain's identifier devnode-1 and a zero byte)",
    () => craft({ block, submittedPrefix: Buffer.from("devnode-1") }),
  ],
  [
    "the prefix twice",
    "tx.input_data (couldn't unmarshall input data: proto: cannot parse invalid wire-format data)",
    () => craft({ block, submittedPrefix: Buffer.from("devnode-1\0devnode-1\0") }),
  ],
  [
    "a flipped bit in the price",
    "tx.signature.value (invalid signature)",
    changed((tx) => ({ ...tx, inputData: flipped(tx.inputData, Buffer.from(tx.inputData).indexOf("9000000")) })),
  ],
  [
    "a byte more",
    "tx.input_data (couldn't unmarshall input data: proto: cannot parse invalid wire-format data)",
    changed((tx) => ({ ...tx, inputData: Buffer.concat([tx.inputData, Buffer.alloc(1)]) })),
  ],
  [
    "a byte less",
    "tx.input_data (couldn't unmarshall input data: proto: cannot parse invalid wire-format data)",
    changed((tx) => ({ ...tx, inputData: tx.inputData.subarray(0, -1) })),
  ],
  [
    "a field more",
    "tx.signature.value (invalid signature)",
    changed((tx) => ({ ...tx, inputData: Buffer.concat([tx.inputData, Buffer.from([0x18, 1])]) })),
  ],
  ["nonce 0", "tx.input_data.nonce (must be positive)", () => craft({ block, inputData: { nonce: 0n } })],
  [
    "an old block",
    "unknown block height for tx:",
    () => craft({ block, inputData: { blockHeight: block.height - 101n } }),
  ],
  [
    "a block to come",
    "unknown block height for tx:",
    () => craft({ block, inputData: { blockHeight: block.height + 1n } }),
  ],
  ["no block", "transaction too old", () => craft({ block, inputData: { blockHeight: 0n } })],
  [
    "no command",
    "tx.input_data.command (is required)",
    () => craft({ block, inputData: { command: { case: undefined } } }),
  ],
  [
    "an unknown command",
    "tx.input_data.command (is required)",
    () => {
      const $unknown = [{ no: 5000, wireType: 2, data: Uint8Array.of(1, 7) }];
      return craft({ block, inputData: { command: { case: undefined }, $unknown } });
    },
  ],
  [
    "a price that is not whole",
    "stop_orders_submission.rises_below.trigger.price (not a valid integer)",
    () => craft({ block, inputData: { command: stopOrder("1.5") } }),
  ],
  [
    "no market",
    "order_submission.market_id (is required)",
    () => craft({ block, inputData: { command: stopOrder("1", "") } }),
  ],
  ["no proof of work", "failed to verify proof of work", changed(({ pow: _, ...tx }) => tx)],
  ["no tid", "failed to verify proof of work", changed((tx) => pow(tx, { tid: "" }))],
  [
    "a reused tid",
    "proof of work tid already seen by the node",
    async () => {
      const { transaction } = await client.sendCommand(stopOrder(), { signer: sender });
      return pow(await good(), { tid: transaction.pow?.tid ?? "" });
    },
  ],
  [
    "what was signed and sent before, under a new tid",
    "nonce already used by party",
    async () => {
      const { transaction } = await client.sendCommand(stopOrder(), { signer: sender });
      await node.makeBlock();
      const tid = "77".repeat(32);
      const { nonce } = await solve({ blockHash: block.hash, tid, difficulty: block.difficulty });
      return pow(transaction, { tid, nonce });
    },
  ],
  [
    "too low a difficulty",
    "failed to verify proof of work",
    changed((tx) =>
      pow(tx, { nonce: nonceBetween(tx.pow?.tid ?? "", block.hash, block.difficulty - 3, block.difficulty) }),
    ),
  ],
  [
    "a proof of work for another block",
    "failed to verify proof of work",
    async () => {
      const older = "00".repeat(32);
      const tx = await craft({ block: { ...block, hash: older } });
      const { tid = "" } = tx.pow ?? {};
      let { nonce = 0n } = tx.pow ?? {};
      while (verify({ blockHash: block.hash, tid, nonce, difficulty: block.difficulty })) {
        ({ nonce } = await solve({ blockHash: older, tid, difficulty: block.difficulty, startNonce: nonce + 1n }));
      }
      return pow(tx, { nonce });
    },
  ],
];

// By commands/transaction.go and core/pow/engine.go.
describe("tampered transactions are refused, by result, in the network's words", () => {
  test.each(tamperings)("%s: %s", async (_, words, make) => {
    const { success, code, data } = await submit(await make());
    expect({ success, data: data.slice(0, words.length) }).toEqual({ success: false, data: words });
    expect(data === words || words.endsWith(":")).toBe(true);
    expect([60, 89]).toContain(code);
  });

  test("and what they were made of is not", async () => {
    expect(await submit(await good())).toMatchObject({ success: true, log: "" });
    expect(tamperings.length).toBeGreaterThanOrEqual(30);
  });
});
