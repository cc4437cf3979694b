import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { createClient, type Outcome } from "tradewire";
import { type TransactionResultSchema, Transfer_Status } from "tradewire/gen/vega/events/v1/events_pb.js";
import {
  AccountType,
  Order_Status,
  Order_TimeInForce,
  Order_Type,
  OrderError,
  type OrderSchema,
  Side,
  StopOrder_Status,
  StopOrder_TriggerDirection,
  type StopOrderSchema,
} from "tradewire/gen/vega/vega_pb.js";
import { transactionHash } from "tradewire/transaction";
import { eventOf, quiet, streamingService } from "../../support/event-server.js";
import { serveNode } from "../../support/node.js";
import { type CommandFields, lastBlockAnswer, market, sender, stopOrder } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const other = "0b".repeat(32);
const derived = "0c".repeat(32);
const tied = lastBlockAnswer.height;
const value = {
  marketId: market,
  size: 10n,
  side: Side.BUY,
  timeInForce: Order_TimeInForce.GTC,
  type: Order_Type.LIMIT,
  price: "1",
};
const order: CommandFields = { case: "orderSubmission", value };
const stop = stopOrder("9000001");
const setup = stop.case === "stopOrdersSubmission" ? stop.value.risesAbove : undefined;

/** The time of the first block after the submission, in Unix milliseconds. */
const START_MS = 1_767_225_600_000n;

const begin = (block: bigint, timestamp: bigint) =>
  eventOf(`${block}-0`, { event: { case: "beginBlock", value: { timestamp } } });

const end = (block: bigint) => eventOf(`${block}-9`, { event: { case: "endBlock", value: {} } });

type Result = MessageInitShape<typeof TransactionResultSchema>;

/** What a node streams, stores and answers. */
interface Played {
  /** The result that it streams, but for hash and party, and its block. */
  readonly result?: Omit<Result, "$typeName"> | undefined;
  readonly block?: bigint;
  /** How many blocks end at once after the submission. */
  readonly blocks?: number;
  /** The height of its last block, after the submission. */
  readonly height?: bigint;
  readonly order?: MessageInitShape<typeof OrderSchema>;
  readonly stopOrder?: MessageInitShape<typeof StopOrderSchema>;
  /** Whether it has the stop order only once it has begun a later block. */
  readonly isLate?: boolean;
  /** The sender of the transfer that it stores. */
  readonly transferFrom?: string;
  /** The time of a block since the start, in milliseconds, by its number after the submission; `undefined` where it is not sent. */
  readonly timeMs?: (count: number) => number | undefined;
}

/** Sends a command to a node, and returns what the client makes of what the node plays. */
async function outcomeOf(command: CommandFields, played: Played): Promise<Outcome> {
  const { result, block = tied + 1n, blocks = 3, timeMs = (count) => count } = played;
  using runtime = useVirtualRuntime({ io: true });
  let submit: (hash: string) => void = () => undefined;
  const submitted = new Promise<string>((resolve) => {
    submit = resolve;
  });
  let height = tied;
  let begun = 1n;
  const { service } = streamingService(async function* ({ signal }) {
    yield [end(tied - 1n)];
    const hash = await submitted;
    if (result !== undefined) {
      const event = { case: "transactionResult" as const, value: { partyId: sender.publicKey, hash, ...result } };
      yield [eventOf(`${block}-1`, { event })];
    }
    for (let count = 0; count < blocks; count += 1) {
      const block = tied + BigInt(count);
      const time = timeMs(count);
      yield [...(time === undefined ? [] : [begin(block, (START_MS + BigInt(time)) * 1_000_000n)]), end(block)];
    }
    yield* quiet(signal);
  });
  await using node = await serveNode(
    {
      ...service,
      getOrder: ({ orderId }) => ({
        order: played.order && { size: 10n, remaining: 10n, ...played.order, id: orderId },
      }),
      getStopOrder: ({ orderId }) => ({
        order:
          played.stopOrder === undefined || (played.isLate === true && begun <= 2n)
            ? undefined
            : { submission: setup?.orderSubmission, stopOrder: { ...played.stopOrder, id: orderId } },
      }),
      getVegaTime() {
        begun += 1n;
        return { timestamp: begun - 1n };
      },
      getTransfer: ({ transferId }) => ({
        transferNode: {
          transfer: { id: transferId, from: played.transferFrom ?? "", status: Transfer_Status.REJECTED },
        },
      }),
      listEntities: () => ({ ledgerEntries: (played.order ?? played.transferFrom) === undefined ? [] : [{}] }),
    },
    {
      lastBlockHeight: () => ({ ...lastBlockAnswer, height, spamPowNumberOfPastBlocks: 100 }),
      getSpamStatistics: () => ({}),
      getVegaTime: () => ({ timestamp: 1n }),
      submitTransaction({ tx }) {
        height = played.height ?? height;
        const hash = tx === undefined ? "" : transactionHash(tx);
        submit(hash);
        return { success: true, txHash: hash };
      },
    },
  );
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const options = { signer: sender, until: "executed", timeoutMs: 6000 } as const;
  return (await runtime.until(client.sendCommand(command, options))).outcome;
}

const done: Result = { status: true, statusDetail: 1, transaction: order };

describe("a result is believed only if it can be that of the transaction", () => {
  test("with the command, the party and a block that it can have", async () => {
    const outcome = await outcomeOf(order, { result: done });
    expect(outcome).toMatchObject({ status: "executed", evidence: "result", parts: [{ path: "", brings: "order" }] });
  });

  // The copy is exact on v0.78.0: `setTx` in core/events/transaction_result.go.
  test.each<[string, Result, string]>([
    ["another party", { ...done, partyId: other }, `names another party, "${other}"`],
    [
      "another command",
      { ...done, transaction: { case: "orderCancellation", value: {} } },
      "belongs to another command, orderCancellation",
    ],
    [
      "another size",
      { ...done, transaction: { ...order, value: { ...value, size: 11n } } },
      "belongs to another command",
    ],
    [
      "a failure of another command",
      { status: false, statusDetail: 3, transaction: { ...order, value: { ...value, price: "2" } } },
      "belongs to another command",
    ],
    ["no command", { ...done, transaction: { case: undefined } }, "has no command"],
  ])("%s", async (_, result, words) => {
    const reason = `its result in block ${tied + 1n} ${words}`;
    await expect(outcomeOf(order, { result })).resolves.toMatchObject({ status: "unknown", reason });
  });

  test.each([tied - 1n, tied])("a block before the transaction could be made, %s", async (block) => {
    await expect(outcomeOf(order, { result: done, block })).resolves.toMatchObject({
      status: "unknown",
      reason: `its result in block ${block} is impossible: the transaction is tied to block ${tied}, and only later blocks can contain it`,
    });
  });
});

describe("records prove nothing if they name others", () => {
  const rejected = { status: Order_Status.REJECTED, reason: OrderError.MARGIN_CHECK_FAILED, version: 1n };
  const own = { ...rejected, partyId: sender.publicKey, marketId: market };
  test.each<[string, MessageInitShape<typeof OrderSchema>, string | undefined]>([
    ["of the party and the market", own, undefined],
    ["another party", { ...own, partyId: other }, "names another party"],
    ["another market", { ...own, marketId: other }, "names another market"],
  ])("an order: %s", async (_, found, words) => {
    // Blocks are missing, so that records are looked for.
    const outcome = await outcomeOf(order, { block: 0n, blocks: 0, order: found });
    expect(outcome.status).toBe(words === undefined ? "failed" : "unknown");
    const texts = outcome.status === "unknown" ? outcome.lookedAt.map(({ found: text }) => text) : [];
    expect(texts.some((text) => text.includes(`but ${words}, "${other}"`))).toBe(words !== undefined);
  });

  const waiting = {
    partyId: sender.publicKey,
    marketId: market,
    triggerDirection: StopOrder_TriggerDirection.RISES_ABOVE,
    trigger: { case: "price", value: "9000001" },
  } satisfies MessageInitShape<typeof StopOrderSchema>;
  test.each<[string, MessageInitShape<typeof StopOrderSchema>, string | undefined]>([
    ["of the party, the market and the command", waiting, undefined],
    ["another party", { ...waiting, partyId: other }, `names another party, "${other}"`],
    ["another market", { ...waiting, marketId: other }, `names another market, "${other}"`],
    ["another trigger", { ...waiting, trigger: { case: "price", value: "9000002" } }, "has another trigger"],
    ["another direction", { ...waiting, triggerDirection: 2 }, "has another trigger"],
    ["another expiry", { ...waiting, expiresAt: 1n }, "has another expiry"],
    ["a size of the position", { ...waiting, sizeOverrideSetting: 2 }, "has another size"],
  ])("a stop order: %s", async (_, found, words) => {
    const result: Result = {
      status: true,
      statusDetail: 1,
      transaction: stop.case === "stopOrdersSubmission" ? stop : order,
    };
    const stopOrder = { ...found, status: StopOrder_Status.REJECTED };
    const outcome = await outcomeOf(stop, { result, stopOrder });
    expect(outcome.status).toBe(words === undefined ? "failed" : "unknown");
    if (outcome.status === "unknown") {
      expect(outcome.reason).toContain(words);
    }
  });

  // A data node commits a block after it has sent its events, and before it begins the next one: v0.78.0, `processBlock` in
  // datanode/broker/sqlstore_broker.go.
  test("a stop order of a batch, although the node lists it only in the next block", async () => {
    const stopOrdersSubmission = stop.case === "stopOrdersSubmission" ? [stop.value] : [];
    const batch: CommandFields = {
      case: "batchMarketInstructions",
      value: { submissions: [value], stopOrdersSubmission },
    };
    const result: Result = { status: true, statusDetail: 1, transaction: batch };
    const stopOrder = { ...waiting, status: StopOrder_Status.PENDING };
    const own = { status: Order_Status.ACTIVE, partyId: sender.publicKey, marketId: market };
    expect(await outcomeOf(batch, { result, order: own, stopOrder, isLate: true })).toMatchObject({
      status: "executed",
      parts: [{ brings: "order" }, { brings: "stop order" }],
    });
  });
});

test("records of the block that a transaction is tied to do not count as its execution", async () => {
  let isStreamed: () => void = () => undefined;
  const streamed = new Promise<void>((resolve) => {
    isStreamed = resolve;
  });
  const { service } = streamingService(async function* ({ signal }) {
    yield [begin(tied, START_MS * 1_000_000n), end(tied)];
    isStreamed();
    yield* quiet(signal);
  });
  await using node = await serveNode(
    {
      ...service,
      async listEntities() {
        await streamed;
        return { ledgerEntries: [{ timestamp: START_MS * 1_000_000n }] };
      },
    },
    { lastBlockHeight: () => ({ ...lastBlockAnswer, spamPowNumberOfPastBlocks: 100 }), getSpamStatistics: () => ({}) },
  );
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const cancellation: CommandFields = { case: "orderCancellation", value: { marketId: market, orderId: other } };
  const tx = await client.signCommand(cancellation, { signer: sender });
  const outcome = await client.outcome(tx, { timeoutMs: 1500 });
  expect(outcome).toMatchObject({
    status: "unknown",
    reason: `the results of blocks up to ${tied} may be missing, and none that arrived belongs to this transaction`,
    lookedAt: expect.arrayContaining([
      {
        place: "records",
        found: `1 ledgerEntries, but of block ${tied}, and the transaction is tied to block ${tied}`,
      },
    ]),
  });
});

// commands.proto: `from` is the "owner of the account that is debited, where that is not the sender's own key".
test.each([
  ["the derived key that it debits", derived, "failed"],
  ["the sender, where it debits a derived key", sender.publicKey, "unknown"],
  ["another party", other, "unknown"],
])("the record of a transfer that names %s", async (_, transferFrom, status) => {
  const transfer: CommandFields = {
    case: "transfer",
    value: {
      from: derived,
      fromAccountType: AccountType.VESTED_REWARDS,
      to: sender.publicKey,
      toAccountType: AccountType.GENERAL,
      asset: "0a".repeat(32),
      amount: "1",
      kind: { case: "oneOff", value: {} },
    },
  };
  expect(await outcomeOf(transfer, { transferFrom })).toMatchObject({ status });
});

describe("the ends of all blocks in which it could be", () => {
  const blocks = 110;
  const last = tied + 103n;
  test.each<[string, (count: number) => number]>([
    ["a block a millisecond", (count) => count],
    ["an hour between two of them, in which no blocks were made", (count) => count + (count > 50 ? 3_600_000 : 0)],
  ])("prove that it failed where the node has these blocks, and their times can be: %s", async (_, timeMs) => {
    await expect(outcomeOf(order, { blocks, height: last, timeMs })).resolves.toMatchObject({
      status: "failed",
      evidence: "blocks",
      reason: `no block up to ${last} contains it, and later blocks cannot`,
    });
  });

  test("prove nothing where the node's last block is another", async () => {
    await expect(outcomeOf(order, { blocks, height: tied + 1n })).resolves.toMatchObject({
      status: "unknown",
      reason: `according to the events, no block up to ${last} contains it, and later blocks cannot; but the node's last block is ${tied + 1n}`,
    });
  });

  test.each<[string, (count: number) => number | undefined, string]>([
    ["without times", () => undefined, "the times of 104 of these blocks are missing"],
    [
      "with one time missing",
      (count) => (count === 7 ? undefined : count),
      "the times of 1 of these blocks are missing",
    ],
    ["with one time for all", () => 1, "the times of these blocks do not increase"],
    ["with times that go back", (count) => (count === 9 ? 5 : count), "the times of these blocks do not increase"],
    [
      "with times of a second each that this machine's clock has not seen",
      (count) => count * 1000,
      "104 blocks that took 103000 ms by their own times ended within \\d+ ms",
    ],
  ])("prove nothing where they come %s", async (_, timeMs, words) => {
    await expect(outcomeOf(order, { blocks, height: last, timeMs })).resolves.toMatchObject({
      status: "unknown",
      reason: expect.stringMatching(
        new RegExp(`^no block up to \\d+ contains it, [^;]*; ${words}, so their end events are not trusted$`),
      ),
    });
  });
});
