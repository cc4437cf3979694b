// What the client reports of the kinds of commands that the local node does not execute, beside what it reported of the real
// network: a node answers, and tells the results, as the real network did (recorded/command-kinds.json).
import { create, fromBinary, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { type Client, type CommandInit, createClient, TransactionError } from "tradewire";
import { InputDataSchema, type Transaction } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import {
  type BusEvent,
  type TransactionResult,
  TransactionResultSchema,
} from "tradewire/gen/vega/events/v1/events_pb.js";
import { transactionHash } from "tradewire/transaction";
import { eventOf, streamingService } from "../support/event-server.js";
import { serveNode } from "../support/node.js";
import { lastBlockAnswer, sender } from "../support/transactions.js";
import { readRecorded } from "./recorded.js";

/** A recorded command, from its submission to its result. */
interface RecordedCommand {
  readonly name: string;
  readonly kind: string;
  readonly command: JsonObject;
  readonly answer: { readonly success: boolean; readonly code: number; readonly data?: string };
  /** What the network told of it, without the command. */
  readonly result?: JsonObject;
  readonly outcome: { readonly status: string; readonly reason?: string };
}

const KINDS: ReadonlySet<string> = new Set([
  ...["liquidityProvisionSubmission", "liquidityProvisionAmendment", "liquidityProvisionCancellation"],
  ...["submitAmm", "amendAmm", "cancelAmm", "updateMarginMode", "delegateSubmission", "undelegateSubmission"],
  ...["createReferralSet", "updateReferralSet", "applyReferralCode", "joinTeam", "oracleDataSubmission"],
  ...["batchProposalSubmission", "announceNode", "issueSignatures"],
]);

/** Starts a node that makes a block for each transaction, with the result of the recorded command that is played. */
async function startRecordedNode() {
  const blocks: (readonly BusEvent[])[] = [];
  let played: RecordedCommand | undefined;
  let made = () => {};
  const height = () => lastBlockAnswer.height + BigInt(blocks.length);
  const { service } = streamingService(async function* ({ signal }) {
    yield [eventOf(`${height()}-9`, { event: { case: "endBlock", value: {} } })];
    const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
    for (let index = blocks.length; !signal.aborted; index += 1) {
      while (blocks[index] === undefined && !signal.aborted) {
        await Promise.race([
          aborted,
          new Promise<void>((resolve) => {
            made = resolve;
          }),
        ]);
      }
      yield blocks[index] ?? [];
    }
  });
  const lastBlock = () => ({ ...lastBlockAnswer, height: height(), hash: height().toString(16).padStart(64, "0") });
  const node = await serveNode(
    { ...service, getNetworkParameter: ({ key }) => ({ networkParameter: { key, value: "3" } }) },
    {
      lastBlockHeight: lastBlock,
      getSpamStatistics: () => ({}),
      submitTransaction({ tx }) {
        const { answer, result } = played ?? {};
        if (tx !== undefined && result !== undefined) {
          const value = resultOf(tx, result);
          blocks.push([
            eventOf(`${height() + 1n}-0`, { event: { case: "beginBlock", value: { timestamp: 1n } } }),
            eventOf(`${height() + 1n}-1`, { event: { case: "transactionResult", value } }),
            eventOf(`${height() + 1n}-9`, { event: { case: "endBlock", value: {} } }),
          ]);
          made();
        }
        return { ...answer, txHash: tx === undefined ? "" : transactionHash(tx) };
      },
    },
  );
  return Object.assign(node, {
    play(command: RecordedCommand): void {
      played = command;
    },
  });
}

/** The recorded result, of a transaction that was made anew. */
function resultOf(tx: Transaction, recorded: JsonObject): TransactionResult {
  const { command } = fromBinary(InputDataSchema, tx.inputData);
  const field = TransactionResultSchema.oneofs
    .flatMap(({ fields }) => fields)
    .find(({ message }) => message?.typeName === command.value?.$typeName);
  const result = fromJson(TransactionResultSchema, recorded);
  const transaction = { case: field?.localName, value: command.value } as TransactionResult["transaction"];
  return create(TransactionResultSchema, {
    ...{ status: result.status, statusDetail: result.statusDetail, extra: result.extra },
    ...{ partyId: sender.publicKey, hash: transactionHash(tx).toLowerCase(), transaction },
  });
}

async function send(client: Client, command: CommandInit): Promise<RecordedCommand["outcome"]> {
  try {
    const { outcome } = await client.sendCommand(command, { signer: sender, until: "executed" });
    if (command.case === "batchProposalSubmission") {
      const id = expect.stringMatching(/^[0-9a-f]{64}$/);
      expect(outcome).toMatchObject({ evidence: "result", parts: [{ brings: "proposal", id }] });
    }
    return outcome.status === "executed"
      ? { status: outcome.status }
      : { status: outcome.status, reason: outcome.reason };
  } catch (error) {
    if (error instanceof TransactionError) {
      return { status: "refused", reason: error.result.data };
    }
    throw error;
  }
}

test("commands that the local node does not execute come to what the real network made of them", async () => {
  const { cases } = await readRecorded<RecordedCommand>("command-kinds");
  await using node = await startRecordedNode();
  await using client = createClient({ profile: "deployed", transport: "grpc", grpc: { url: node.grpcUrl } });
  const found = new Set<string>();
  for (const recorded of cases.filter(({ kind }) => KINDS.has(kind))) {
    const { name, kind, command, outcome } = recorded;
    const { command: init } = fromJson(InputDataSchema, { [kind]: command });
    if (init.case === undefined) {
      throw new Error(`${name} has no command`);
    }
    node.play(recorded);
    const { status, reason } = outcome;
    expect([name, await send(client, init)]).toEqual([name, { status, ...(reason && { reason }) }]);
    found.add(kind);
  }
  expect([...found].toSorted()).toEqual([...KINDS].toSorted());
});
