import { describe, expect, it } from "@jest/globals";
import { openTransaction, RequestError } from "tradewire";
import { craft, sender } from "../../support/transactions.js";

const block = { chainId: "test-1", height: 7n, hash: "07".repeat(32), difficulty: 2, hashFunction: "sha3_24_rounds" };

describe("openTransaction", () => {
  it("has the input data and the key of a transaction for the chain, in the form that the chain wants", async () => {
    const tx = await craft({ block });
    expect(await openTransaction(tx, block)).toMatchObject({
      problems: [],
      publicKey: sender.publicKey,
      inputData: { blockHeight: 7n },
    });
    const { problems } = await openTransaction(tx, { ...block, chainIdPrefix: "signature-only" });
    expect(problems).toMatchObject([{ path: "tx.inputData" }]);
  });

  it("has no answer for what is no chain", async () => {
    const opened = openTransaction(await craft({ block }), { chainId: "" });
    await expect(opened).rejects.toThrow(RequestError);
  });
});
