// The recorded transactions of the real network: their signatures and hashes, by the package's public functions.
import { readFile } from "node:fs/promises";
import { fromBinary } from "@bufbuild/protobuf";
import { expect, it } from "@jest/globals";
import { TransactionSchema, transactionHash, verifySignature } from "tradewire/transaction";

interface Vector {
  readonly name: string;
  readonly publicKey: string;
  readonly transaction: string;
  readonly inFieldOrder: string;
  readonly answer: { readonly success: boolean; readonly txHash: string };
  readonly result?: { readonly hash: string; readonly status: boolean; readonly partyId: string };
}

const { chainId, transactions }: { chainId: string; transactions: readonly Vector[] } = JSON.parse(
  await readFile(new URL("recorded/vectors.json", import.meta.url), "utf8"),
);
const prefixed = (chain: string, inputData: Uint8Array) => Buffer.concat([Buffer.from(`${chain}\0`), inputData]);

it.each(transactions.map((vector) => [vector.name, vector] as const))("%s: signature and hash", (_, vector) => {
  const tx = fromBinary(TransactionSchema, Buffer.from(vector.transaction, "hex"));
  const signature = tx.signature?.value ?? "";
  expect(tx.from).toEqual({ case: "pubKey", value: vector.publicKey });
  expect(verifySignature(prefixed(chainId, tx.inputData), signature, vector.publicKey)).toBe(true);
  expect(verifySignature(prefixed("another-chain", tx.inputData), signature, vector.publicKey)).toBe(false);
  const hash = transactionHash(tx);
  expect(hash).not.toBe(vector.inFieldOrder);
  // A refused transaction has no hash of the network.
  expect([hash, hash.toLowerCase()]).toEqual([
    vector.answer.success ? vector.answer.txHash : hash,
    vector.result?.hash ?? hash.toLowerCase(),
  ]);
  expect(vector.result?.partyId ?? vector.publicKey).toBe(vector.publicKey);
});

it("has transactions with results, and one that was refused", () => {
  expect(transactions.filter(({ result }) => result !== undefined).length).toBeGreaterThan(8);
  expect(transactions.filter(({ answer }) => !answer.success)).toHaveLength(1);
});
