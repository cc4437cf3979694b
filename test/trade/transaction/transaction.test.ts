import { type DescField, fromBinary, fromJson, toBinary } from "@bufbuild/protobuf";
import { describe, expect, jest, test } from "@jest/globals";
import { KeyPair } from "@vegaprotocol/crypto/keypair";
import { decode as decodeLikeVega } from "@vegaprotocol/protos/vega/commands/v1/InputData/decode.js";
import { encode as encodeInputDataLikeVega } from "@vegaprotocol/protos/vega/commands/v1/InputData/encode.js";
import { encode as encodeTransactionLikeVega } from "@vegaprotocol/protos/vega/commands/v1/Transaction/encode.js";
import fc from "fast-check";
import { CommandError, type CommandInit, createTransaction, RequestError, signerFromSeed } from "tradewire";
import { InputDataSchema, TransactionSchema, TxVersion } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { plainToJson, randomMessage } from "../../support/random-message.js";
import { runs } from "../../support/tier.js";
import { openTransactionSync, proofProblem } from "./inside.js";

const signer = signerFromSeed("0b".repeat(32));
const block = {
  chainId: "test-1",
  height: 4711n,
  hash: "ffb67ea4111d466d363a5c8f355bf81e2e3504563af273f5de81a005a6247e14",
  difficulty: 8,
  hashFunction: "sha3_24_rounds",
};
const command: CommandInit = {
  case: "stopOrdersSubmission",
  value: {
    risesAbove: {
      orderSubmission: {
        marketId: "ab".repeat(32),
        size: 10n,
        side: Side.SELL,
        timeInForce: Order_TimeInForce.IOC,
        type: Order_Type.MARKET,
        reduceOnly: true,
      },
      trigger: { case: "price", value: "123456" },
    },
  },
};
const text = (value: string) => new TextEncoder().encode(value);

/** The commands that the specification does not have. */
const BESIDE_SPECIFICATION = [
  "proposalSubmission",
  "batchProposalSubmission",
  "announceNode",
  "nodeVote",
  "nodeSignature",
  "chainEvent",
  "keyRotateSubmission",
  "stateVariableProposal",
  "validatorHeartbeat",
  "ethereumKeyRotateSubmission",
  "protocolUpgradeProposal",
  "issueSignatures",
  "oracleDataSubmission",
  "delayedTransactionsWrapper",
];

const isSpecifiedField = ({ localName, oneof }: DescField) =>
  oneof !== undefined && !BESIDE_SPECIFICATION.includes(localName);

describe("bytes", () => {
  test("of any InputData with a command of the specification are those of the network's own library", () => {
    fc.assert(
      fc.property(randomMessage(InputDataSchema, isSpecifiedField), (plain) => {
        const ours = toBinary(InputDataSchema, fromJson(InputDataSchema, plainToJson(plain)));
        expect(Buffer.from(ours).toString("hex")).toBe(Buffer.from(encodeInputDataLikeVega(plain)).toString("hex"));
      }),
      { numRuns: runs(400) },
    );
  });

  test("of any Transaction hold what those of the network's own library hold, which writes a oneof last", () => {
    fc.assert(
      fc.property(randomMessage(TransactionSchema), fc.uint8Array({ minLength: 1 }), (plain, inputData) => {
        const message = fromJson(TransactionSchema, plainToJson(plain));
        const theirs = encodeTransactionLikeVega({ ...plain, inputData });
        expect(fromBinary(TransactionSchema, theirs)).toEqual({ ...message, inputData });
        expect(toBinary(TransactionSchema, { ...message, inputData })).toHaveLength(theirs.length);
      }),
    );
  });
});

describe("a transaction", () => {
  const forms = [
    { version: undefined, chainIdPrefix: undefined, number: TxVersion.V3, signed: "test-1\0", submitted: "test-1\0" },
    {
      version: "TX_VERSION_V3",
      chainIdPrefix: "signed-and-submitted",
      number: TxVersion.V3,
      signed: "test-1\0",
      submitted: "test-1\0",
    },
    {
      version: "TX_VERSION_V3",
      chainIdPrefix: "signature-only",
      number: TxVersion.V3,
      signed: "test-1\0",
      submitted: "",
    },
    { version: "TX_VERSION_V2", chainIdPrefix: undefined, number: TxVersion.V2, signed: "", submitted: "" },
  ] as const;

  test.each(forms)(
    "of $version, prefix $chainIdPrefix",
    async ({ version, chainIdPrefix, number, signed, submitted }) => {
      const tx = await createTransaction(command, { signer, block, version, chainIdPrefix });
      expect(tx).toMatchObject({
        signature: { algo: "vega/ed25519", version: 1, value: expect.stringMatching(/^[0-9a-f]{128}$/) },
        from: { case: "pubKey", value: signer.publicKey },
        version: number,
        pow: { tid: expect.stringMatching(/^[0-9a-f]{64}$/) },
      });
      expect(Buffer.from(tx.inputData.subarray(0, submitted.length)).toString()).toBe(submitted);
      const bare = tx.inputData.subarray(submitted.length);
      expect(decodeLikeVega(bare)).toMatchObject({ blockHeight: 4711n, nonce: expect.anything() });
      expect(fromBinary(InputDataSchema, bare)).toMatchObject({
        blockHeight: 4711n,
        command: { case: "stopOrdersSubmission", value: { risesAbove: { trigger: { value: "123456" } } } },
      });
      const pair = await KeyPair.fromSeed(0, Buffer.from("0b".repeat(32), "hex"));
      const signature = Buffer.from(tx.signature?.value ?? "", "hex");
      expect(await pair.verify(signature, Buffer.concat([text(signed), bare]))).toBe(true);
      const opened = openTransactionSync(tx, { chainId: "test-1", chainIdPrefix });
      expect(opened).toMatchObject({ problems: [], publicKey: signer.publicKey, inputData: { blockHeight: 4711n } });
      expect(proofProblem(tx, block)).toBeUndefined();
    },
  );

  test("has a nonce that is not 0, and a tid, of its own each time", async () => {
    const made = await Promise.all([1, 2, 3].map(() => createTransaction(command, { signer, block })));
    const nonces = made.map((tx) => openTransactionSync(tx, block).inputData?.nonce ?? 0n);
    expect(nonces).not.toContain(0n);
    expect(new Set(nonces).size).toBe(3);
    expect(new Set(made.map(({ pow }) => pow?.tid)).size).toBe(3);
  });

  test("takes the nonce and the tid that it is given", async () => {
    const tid = "c4".repeat(32);
    const tx = await createTransaction(command, { signer, block, nonce: 7n, tid });
    expect(tx.pow?.tid).toBe(tid);
    expect(openTransactionSync(tx, block).inputData?.nonce).toBe(7n);
    await expect(createTransaction(command, { signer, block, nonce: 0n })).rejects.toThrow(
      "nonce must be a bigint from 1 to 2^64 - 1 (got 0)",
    );
  });

  test("is not signed where a field of the command is wrong", async () => {
    const sign = jest.fn(signer.sign);
    const counting = { publicKey: signer.publicKey, sign };
    const wrong: CommandInit = { case: "stopOrdersSubmission", value: { risesAbove: {} } };
    const error = await createTransaction(wrong, { signer: counting, block }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CommandError);
    const problems = [
      { path: "stopOrdersSubmission.risesAbove.orderSubmission", message: "is required" },
      { path: "stopOrdersSubmission.risesAbove.price", message: "is required without trailingPercentOffset" },
    ];
    expect(error).toMatchObject({ problems });
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ name: "CommandError", problems });
    expect(sign).not.toHaveBeenCalled();
    await createTransaction(command, { signer: counting, block });
    expect(sign).toHaveBeenCalledTimes(1);
  });

  test.each(["", "test 1", "x".repeat(51)])("is not signed for a chain of no identifier: %j", async (chainId) => {
    const sign = jest.fn(signer.sign);
    const given = { signer: { publicKey: signer.publicKey, sign }, block: { ...block, chainId } };
    await expect(createTransaction(command, given)).rejects.toThrow(
      "block.chainId must be 1 to 50 characters of A-Z a-z 0-9 . _ - (got ",
    );
    expect(sign).not.toHaveBeenCalled();
    // Version 2 is signed for no chain.
    await createTransaction(command, { ...given, version: "TX_VERSION_V2" });
    expect(sign).toHaveBeenCalledTimes(1);
  });

  test.each(["x", signer.publicKey.toUpperCase(), `${signer.publicKey}0`, ` ${signer.publicKey}`])(
    "is not signed by a signer of the key %j",
    async (publicKey) => {
      const sign = jest.fn(signer.sign);
      const making = createTransaction(command, { signer: { publicKey, sign }, block });
      await expect(making).rejects.toThrow(
        `signer.publicKey must be an Ed25519 public key of 64 lowercase hex digits (got "${publicKey}")`,
      );
      expect(sign).not.toHaveBeenCalled();
    },
  );

  test("is not made with a signature that is none of the signer's", async () => {
    const other = signerFromSeed("0c".repeat(32));
    const { publicKey } = signer;
    const sign = async (message: Uint8Array) => other.sign(message);
    const error = await createTransaction(command, { signer: { publicKey, sign }, block }).catch((reason) => reason);
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({
      summary: `the signer returned a signature that is invalid for the public key ${publicKey}`,
      advice: "A signer must sign the SHA3-256 digest of the message with Ed25519 and the key of its publicKey.",
    });
  });
});
