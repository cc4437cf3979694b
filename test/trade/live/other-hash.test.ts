import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import type { TransactionResultSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { transactionHash } from "tradewire/transaction";
import { eventOf, quiet, streamingService } from "../../support/event-server.js";
import { serveNode } from "../../support/node.js";
import { lastBlockAnswer, sender } from "../../support/transactions.js";

const other = "CD".repeat(32);

const last = { ...lastBlockAnswer, spamPowNumberOfPastBlocks: 1 };

const begin = (block: number) =>
  eventOf(`${block}-0`, { event: { case: "beginBlock", value: { timestamp: BigInt(block) * 1_000_000n } } });

const end = (block: number) => eventOf(`${block}-9`, { event: { case: "endBlock", value: {} } });

const cancel = { case: "cancelTransfer", value: { transferId: "ab".repeat(32) } } as const;

/** Sends a command to a node that gives a different hash than the client computes, and tells this result under it. */
async function sendTo(result: MessageInitShape<typeof TransactionResultSchema>) {
  let submit = () => {};
  const submitted = new Promise<void>((resolve) => {
    submit = resolve;
  });
  const { service } = streamingService(async function* ({ signal }) {
    yield [end(7)];
    await submitted;
    yield [
      eventOf("8-1", {
        event: { case: "transactionResult", value: { partyId: sender.publicKey, status: true, ...result } },
      }),
    ];
    for (const block of [8, 9, 10, 11, 12]) {
      yield [begin(block), end(block)];
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
  return await client.sendCommand(cancel, { signer: sender, until: "executed" });
}

describe("a transaction to which the node gives another hash", () => {
  test("is known by that one, and its own is reported", async () => {
    const sent = await sendTo({ hash: other.toLowerCase(), transaction: cancel });
    expect(sent).toMatchObject({ txHash: other, outcome: { status: "executed", txHash: other, block: 8n } });
    expect(sent.computedTxHash).toBe(transactionHash(sent.transaction));
    expect(sent.computedTxHash).not.toBe(other);
  });

  test("is not taken for another one of the same party", async () => {
    const another = { ...cancel, value: { transferId: "cd".repeat(32) } };
    const { outcome } = await sendTo({ hash: other, transaction: another });
    expect(outcome).toMatchObject({
      status: "unknown",
      reason: `the node reports the hash ${other}, whose result in block 8 belongs to another command`,
    });
  });

  test("has not failed because no block has that hash", async () => {
    const { outcome, computedTxHash } = await sendTo({ hash: "EF".repeat(32), transaction: cancel });
    expect(outcome).toMatchObject({
      status: "unknown",
      reason: `no block up to 11 contains it, and later blocks cannot; the node reports the hash ${other}, but this client computed ${computedTxHash}; block results have an equal command of the same party under the hash ${"EF".repeat(32)}`,
    });
  });
});
