import { readFile } from "node:fs/promises";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { type Transaction, TransactionSchema, transactionHash } from "tradewire/transaction";

/** Transactions that a v0.78.0 network has taken, and the hash that it gave each of them. */
const vectors: {
  readonly transactions: readonly {
    readonly name: string;
    readonly transaction: string;
    readonly answer: { readonly txHash: string };
  }[];
} = JSON.parse(await readFile(new URL("../../network/recorded/vectors.json", import.meta.url), "utf8"));

const taken = vectors.transactions.filter(({ answer }) => answer.txHash !== "");

function decode(hex: string): Transaction {
  return fromBinary(TransactionSchema, Buffer.from(hex, "hex"));
}

describe("the hash of a transaction", () => {
  test("some were recorded", () => {
    expect(taken.length).toBeGreaterThanOrEqual(9);
  });

  test.each(taken)("is that of the network: $name", ({ transaction, answer }) => {
    expect(transactionHash(decode(transaction))).toBe(answer.txHash);
  });

  test("does not depend on the order in which the fields came", () => {
    for (const { transaction, answer } of taken) {
      const message = decode(transaction);
      const parts: MessageInitShape<typeof TransactionSchema>[] = [
        { pow: message.pow },
        { from: message.from },
        { version: message.version },
        { signature: message.signature },
        { inputData: message.inputData },
      ];
      const bytes = Buffer.concat(parts.map((part) => toBinary(TransactionSchema, create(TransactionSchema, part))));
      expect(transactionHash(fromBinary(TransactionSchema, bytes))).toBe(answer.txHash);
    }
  });

  test("covers unknown fields, which the network's serializer keeps behind the others", () => {
    const [vector] = taken;
    const field = Buffer.from("c2fa0701ff", "hex"); // Number 16296, one byte.
    const with1 = decode(`${vector?.transaction}${field.toString("hex")}`);
    expect(transactionHash(with1)).not.toBe(vector?.answer.txHash);
    expect(transactionHash(with1)).toBe(transactionHash(decode(`${field.toString("hex")}${vector?.transaction}`)));
  });
});
