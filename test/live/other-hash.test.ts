import { expect, test } from "@jest/globals";
import { createClient } from "../../src/client.js";
import { eventOf, quiet, streamingService } from "../support/event-server.js";
import { serveNode } from "../support/node.js";
import { lastBlockAnswer, sender } from "../support/transactions.js";

const other = "CD".repeat(32);

const last = { ...lastBlockAnswer, spamPowNumberOfPastBlocks: 1 };

const end = (block: number) => eventOf(`${block}-9`, { event: { case: "endBlock", value: {} } });

test("a transaction to which the node gives another hash is not taken for that of another", async () => {
  let submit = () => {};
  const submitted = new Promise<void>((resolve) => {
    submit = resolve;
  });
  const { service } = streamingService(async function* ({ signal }) {
    yield [end(7)];
    await submitted;
    const result = { hash: other, partyId: sender.publicKey, status: true };
    yield [eventOf("8-1", { event: { case: "transactionResult", value: result } })];
    for (const block of [8, 9, 10, 11, 12]) {
      yield [end(block)];
    }
    yield* quiet(signal);
  });
  await using node = await serveNode(service, {
    lastBlockHeight: () => last,
    getSpamStatistics: () => ({}),
    submitTransaction() {
      submit();
      return { success: true, txHash: other };
    },
  });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const cancel = { case: "cancelTransfer", value: { transferId: "ab".repeat(32) } } as const;
  const { txHash, outcome } = await client.sendCommand(cancel, { signer: sender, until: "executed" });
  expect(txHash).not.toBe(other);
  expect(outcome).toMatchObject({
    status: "unknown",
    txHash,
    reason: expect.stringMatching(
      new RegExp(`^no block up to 11 has taken it, .*; the node gave it another hash, "${other}"$`),
    ),
  });
});
