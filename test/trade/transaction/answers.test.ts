import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { type Client, createClient, OutcomeUnknownError, TransactionError } from "tradewire";
import {
  SubmitTransactionRequest_Type,
  type SubmitTransactionResponseSchema,
} from "tradewire/gen/vega/api/v1/core_pb.js";
import type { Transaction } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { transactionHash } from "tradewire/transaction";
import { eventOf, quiet, streamingService } from "../../support/event-server.js";
import { serveNode } from "../../support/node.js";
import { lastBlockAnswer, sender } from "../../support/transactions.js";

type Answer = MessageInitShape<typeof SubmitTransactionResponseSchema>;

const cancel = { case: "cancelTransfer", value: { transferId: "ab".repeat(32) } } as const;
const type = SubmitTransactionRequest_Type.SYNC;
const seen = { success: false, code: 89, data: "proof of work tid already seen by the node" };
/** As `core/processor/abci.go` of v0.78.0 says it. */
const unknownBlock = { success: false, code: 89, data: "unknown block height for tx:ab, command:Cancel Transfer" };
const lost = (): never => {
  throw new ConnectError("the connection is gone", Code.Unavailable);
};

/** A node that checks every transaction successfully and answers submissions one after the other, and its client. */
async function nodeThatAnswers(transport: "grpc" | "rest", answers: readonly (Answer | (() => never))[]) {
  let submitted: (tx: Transaction | undefined) => void = () => {};
  const submission = new Promise<Transaction | undefined>((resolve) => {
    submitted = resolve;
  });
  const { service } = streamingService(async function* ({ signal }) {
    yield [eventOf("7-9", { event: { case: "endBlock", value: {} } })];
    const tx = await submission;
    const hash = tx === undefined ? "" : transactionHash(tx);
    const value = { partyId: sender.publicKey, status: true, hash, transaction: cancel };
    yield [eventOf("8-1", { event: { case: "transactionResult", value } })];
    yield [eventOf("8-9", { event: { case: "endBlock", value: {} } })];
    yield* quiet(signal);
  });
  const left = [...answers];
  const node = await serveNode(service, {
    lastBlockHeight: () => lastBlockAnswer,
    getSpamStatistics: () => ({}),
    checkTransaction: () => ({ success: true }),
    submitTransaction({ tx }) {
      submitted(tx);
      const answer = left.shift() ?? {};
      return typeof answer === "function" ? answer() : answer;
    },
  });
  const client = createClient({ transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } });
  const close = async () => {
    await client.close();
    await node.close();
  };
  return { client, [Symbol.asyncDispose]: close };
}

const reasonOf = (result: Promise<unknown>) => result.catch((reason: unknown) => reason);
const sent = (client: Client) => reasonOf(client.sendCommand(cancel, { signer: sender }));

describe.each(["grpc", "rest"] as const)("an answer to a submission over %s", (transport) => {
  // All codes of core/blockchain/response.go of v0.78.0 that CheckTx gives: 71 is the code of a batch that was executed.
  test.each([51, 60, 70, 80, 89])("with the code %i is a refusal", async (code) => {
    await using node = await nodeThatAnswers(transport, [{ success: false, code, data: "no" }]);
    expect(await sent(node.client)).toBeInstanceOf(TransactionError);
  });

  test.each<[Answer, string]>([
    [{}, "the response neither accepts nor refuses the transaction"],
    [
      { txHash: "AB".repeat(32), data: "something" },
      'the response neither accepts nor refuses the transaction: "something"',
    ],
    [{ code: 71, log: "y" }, 'the response refuses the transaction with the unknown code 71: "y"'],
    [{ code: 99, data: "x" }, 'the response refuses the transaction with the unknown code 99: "x"'],
  ])("that is no success and no known refusal proves nothing: %j", async (answer, summary) => {
    await using node = await nodeThatAnswers(transport, [answer, answer, answer]);
    const error = await sent(node.client);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ summary: expect.stringContaining(summary), cause: { summary } });
    const raw = reasonOf(node.client.sendCommand(cancel, { signer: sender, throwOnRejection: false }));
    expect(await raw).toBeInstanceOf(OutcomeUnknownError);
  });
});

test.each([{}, { code: 99 }])(
  "an answer that proves nothing does not end the wait for the result: %j",
  async (answer) => {
    await using node = await nodeThatAnswers("grpc", [answer]);
    const { outcome } = await node.client.sendCommand(cancel, { signer: sender, until: "executed" });
    expect(outcome).toMatchObject({ status: "executed", block: 8n, evidence: "result" });
  },
);

describe("a tid that the node has seen", () => {
  const look = /^An earlier submission may have been accepted, or/;

  test("is explained by the check where this client only had it checked", async () => {
    await using node = await nodeThatAnswers("grpc", [seen]);
    const tx = await node.client.signCommand(cancel, { signer: sender });
    await node.client.checkTransaction(tx);
    expect(await reasonOf(node.client.submitTransaction({ tx, type }))).toMatchObject({
      advice: expect.stringMatching(/^This client asked the node to check the transaction,/),
    });
  });

  test("is not explained by a check where this client also submitted it", async () => {
    await using node = await nodeThatAnswers("grpc", [lost, seen, seen]);
    const tx = await node.client.signCommand(cancel, { signer: sender });
    await node.client.checkTransaction(tx);
    const submit = () => reasonOf(node.client.submitTransaction({ tx, type }));
    expect(await submit()).toBeInstanceOf(OutcomeUnknownError);
    expect(await submit()).toMatchObject({ mayHaveBeenTaken: true, advice: expect.stringMatching(look) });
    await node.client.checkTransaction(tx);
    expect(await submit()).toMatchObject({ mayHaveBeenTaken: true, advice: expect.stringMatching(look) });
  });
});

describe("a block that the node does not know", () => {
  test("leaves nothing of a transaction that was signed and sent once", async () => {
    await using node = await nodeThatAnswers("grpc", [unknownBlock, unknownBlock]);
    const refused = {
      name: "TransactionError",
      refusal: "expired",
      mayHaveBeenTaken: false,
      advice:
        "The transaction will not be executed: its proof of work is for a block that the node does not know or that is too old. Sign the command again.",
    };
    expect(await sent(node.client)).toMatchObject(refused);
    const waited = node.client.sendCommand(cancel, { signer: sender, until: "executed" });
    expect(await reasonOf(waited)).toMatchObject(refused);
  });

  test("may follow an earlier submission of a transaction that was signed before", async () => {
    await using node = await nodeThatAnswers("grpc", [unknownBlock]);
    const tx = await node.client.signCommand(cancel, { signer: sender });
    expect(await reasonOf(node.client.submitTransaction({ tx, type }))).toMatchObject({
      refusal: "expired",
      mayHaveBeenTaken: true,
    });
  });
});
