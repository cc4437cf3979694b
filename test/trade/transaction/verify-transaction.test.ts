import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { RequestError } from "tradewire";
import { InputDataSchema, TransactionSchema, TxVersion } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import {
  inputDataProblems,
  openTransactionSync,
  proofProblem,
} from "../../../src/trade/transaction/verify-transaction.js";
import { type Craft, chainPrefix, craft, sender, stopOrder } from "../../support/transactions.js";

const chain = { chainId: "test-1" };
const block = { chainId: "test-1", height: 7n, hash: "07".repeat(32), difficulty: 2, hashFunction: "sha3_24_rounds" };
const none = new Uint8Array();
/** A version of transactions that there is no name for. */
const version: number = 1;

/** The problems of a transaction with some parts, and some fields of it changed behind its signature. */
async function problemsOf(
  change: MessageInitShape<typeof TransactionSchema> = {},
  parts: Partial<Craft> = {},
  of: Parameters<typeof openTransactionSync>[1] = chain,
): Promise<string[]> {
  const { $typeName, ...tx } = await craft({ block, ...parts });
  const { problems } = openTransactionSync(create(TransactionSchema, { ...tx, ...change }), of);
  return problems.map(({ path, message }) => `${path} ${message}`);
}

describe("a transaction", () => {
  it("is opened where all of it is right", async () => {
    const { inputData, publicKey, problems } = openTransactionSync(await craft({ block }), chain);
    expect(problems).toEqual([]);
    expect(inputData).toMatchObject({ blockHeight: 7n, command: { case: "stopOrdersSubmission" } });
    expect(publicKey).toBe(sender.publicKey);
  });

  it("may leave the chain's identifier to its signature, where that is the network's way", async () => {
    const only = { ...chain, chainIdPrefix: "signature-only" } as const;
    expect(await problemsOf({}, { submittedPrefix: none }, only)).toEqual([]);
    expect(await problemsOf({}, {}, only)).toEqual([
      "tx.inputData must not begin, as it is submitted, with the chain ID test-1 and a zero byte",
    ]);
    expect(await problemsOf({}, { signedPrefix: none, submittedPrefix: none }, only)).toEqual([
      "tx.signature.value must be a signature of tx.pubKey over tx.inputData for chain test-1",
    ]);
  });

  it("of version 3 begins with the chain's identifier and a zero byte", async () => {
    const rule = "tx.inputData must begin with the chain ID test-1 and a zero byte";
    expect(await problemsOf({}, { submittedPrefix: none })).toEqual([rule]);
    expect(await problemsOf({}, { submittedPrefix: chainPrefix("test-2") })).toEqual([rule]);
  });

  it("of version 2 does not", async () => {
    const version = TxVersion.V2;
    const bare = { signedPrefix: none, submittedPrefix: none };
    expect(await problemsOf({ version }, bare)).toEqual([]);
    expect(await problemsOf({ version }, bare, { ...chain, chainIdPrefix: "signature-only" })).toEqual([]);
    expect(await problemsOf({ version })).toEqual([
      "tx.inputData must not begin, as it is submitted, with the chain ID test-1 and a zero byte",
    ]);
    expect(await problemsOf({ version }, { submittedPrefix: none })).toEqual([
      "tx.signature.value must be a signature of tx.pubKey over tx.inputData",
    ]);
  });

  it("is for the chain that is named, whose identifier has the right form", async () => {
    expect(await problemsOf({}, { signedPrefix: chainPrefix("test-2") })).toEqual([
      "tx.signature.value must be a signature of tx.pubKey over tx.inputData for chain test-1",
    ]);
    await expect(problemsOf({}, {}, { chainId: "a\0b" })).rejects.toThrow(RequestError);
  });

  it.each<[MessageInitShape<typeof TransactionSchema>, string[]]>([
    [{ version }, ["tx.version must be TX_VERSION_V2 or TX_VERSION_V3 (got 1)"]],
    [{ version: TxVersion.UNSPECIFIED }, ["tx.version must be TX_VERSION_V2 or TX_VERSION_V3 (got UNSPECIFIED)"]],
    [{ from: { case: "address", value: "x" } }, ["tx.address is not supported: set tx.pubKey"]],
    [{ from: { case: undefined } }, ["tx.pubKey is required"]],
    [{ from: { case: "pubKey", value: "" } }, ["tx.pubKey is required"]],
    [
      { from: { case: "pubKey", value: sender.publicKey.toUpperCase() } },
      ["tx.pubKey must be 64 lowercase hex digits"],
    ],
    [{ from: { case: "pubKey", value: `${sender.publicKey}0` } }, ["tx.pubKey must be 64 lowercase hex digits"]],
    [{ from: { case: "pubKey", value: `0${sender.publicKey}` } }, ["tx.pubKey must be 64 lowercase hex digits"]],
    [
      { from: { case: "pubKey", value: "5e".repeat(32) } },
      ["tx.signature.value must be a signature of tx.pubKey over tx.inputData for chain test-1"],
    ],
    [{ inputData: none }, ["tx.inputData is required"]],
    [{ inputData: Buffer.from("test-1\0no") }, ["tx.inputData must be a serialized InputData"]],
    [
      { inputData: none, version },
      ["tx.version must be TX_VERSION_V2 or TX_VERSION_V3 (got 1)", "tx.inputData is required"],
    ],
  ])("%p is refused", async (change, problems) => {
    expect(await problemsOf(change)).toEqual(problems);
  });

  it("has a signature of the network's algorithm", async () => {
    const { $typeName, signature, ...rest } = await craft({ block });
    const value = signature?.value ?? "";
    const right = { value, algo: "vega/ed25519", version: 1 };
    const given = (change: MessageInitShape<typeof TransactionSchema>["signature"]) =>
      openTransactionSync(
        create(TransactionSchema, { ...rest, ...(change && { signature: change }) }),
        chain,
      ).problems.map(({ path, message }) => `${path} ${message}`);
    expect(given(right)).toEqual([]);
    expect(given({ ...right, value: value.toUpperCase() })).toEqual([]);
    expect(given(undefined)).toEqual(["tx.signature is required"]);
    expect(given({ ...right, algo: "rsa" })).toEqual(['tx.signature.algo must be vega/ed25519 (got "rsa")']);
    expect(given({ ...right, version: 2 })).toEqual(["tx.signature.version must be 1 (got 2)"]);
    for (const wrong of [`${value}0`, `0${value}`, value.slice(1), ""]) {
      expect(given({ ...right, value: wrong })).toEqual(["tx.signature.value must be 128 hex digits"]);
    }
    expect(given({ algo: "", version: 0, value: "" })).toHaveLength(3);
  });

  it("has a nonce that is not 0", async () => {
    expect(await problemsOf({}, { inputData: { nonce: 0n } })).toEqual(["tx.inputData.nonce must not be 0"]);
  });
});

describe("the command in input data", () => {
  const problems = (init: MessageInitShape<typeof InputDataSchema>) => inputDataProblems(create(InputDataSchema, init));

  it("is checked", () => {
    expect(problems({ command: stopOrder() })).toEqual([]);
    expect(problems({ command: stopOrder("0") })).toHaveLength(1);
  });

  it("is required, and of a known kind", () => {
    const path = "tx.inputData.command";
    expect(problems({})).toEqual([{ path, message: "is required" }]);
    const unknown = { ...create(InputDataSchema), $unknown: [{ no: 2005, wireType: 0, data: none }] };
    expect(inputDataProblems(unknown)).toEqual([{ path, message: "is of an unknown kind" }]);
  });
});

describe("a proof of work", () => {
  it("is one for the block and the transaction's identifier", async () => {
    const tx = await craft({ block });
    expect(proofProblem(tx, block)).toBeUndefined();
    expect(proofProblem(tx, { ...block, difficulty: 200 })).toEqual({
      path: "tx.pow.nonce",
      message: "must be a proof of work of difficulty 200 for tx.pow.tid and block 7",
    });
    expect(() => proofProblem(tx, { ...block, hashFunction: "md5" })).toThrow(RequestError);
  });

  it("names the transaction", async () => {
    const { $typeName, pow, ...tx } = await craft({ block });
    const required = { path: "tx.pow.tid", message: "is required" };
    expect(proofProblem(create(TransactionSchema, tx), block)).toEqual(required);
    expect(proofProblem(create(TransactionSchema, { ...tx, pow: { nonce: pow?.nonce ?? 0n } }), block)).toEqual(
      required,
    );
  });
});
