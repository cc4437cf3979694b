import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { type CommandInit, createClient, OutcomeUnknownError, RequestError, signerFromMnemonic } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import type { ListEntitiesResponseSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { type StopOrdersSubmissionSchema, UpdateMarginMode_Mode } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { Transfer_Status } from "tradewire/gen/vega/events/v1/events_pb.js";
import { Vote_Value } from "tradewire/gen/vega/governance_pb.js";
import {
  type MarginLevelsSchema,
  MarginMode,
  Order_Status,
  Order_TimeInForce,
  Order_Type,
  OrderError,
  type OrderSchema,
  Side,
  StopOrder_ExpiryStrategy,
  StopOrder_SizeOverrideSetting,
  TransferType,
} from "tradewire/gen/vega/vega_pb.js";
import { transactionHash } from "tradewire/transaction";
import { committed } from "../../support/committed.js";
import { quiet, streamingService } from "../../support/event-server.js";
import { serveNode, unanswered } from "../../support/node.js";
import { lastBlockAnswer, market, sender } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const { ACTIVE, CANCELLED, EXPIRED, PARKED, FILLED, PARTIALLY_FILLED, REJECTED, STOPPED } = Order_Status;
const { GTC, IOC } = Order_TimeInForce;

type Records = MessageInitShape<typeof ListEntitiesResponseSchema>;
type OrderRecord = MessageInitShape<typeof OrderSchema>;

const order = { marketId: market, size: 10n, side: Side.BUY, timeInForce: GTC, type: Order_Type.LIMIT, price: "1" };
const submission: CommandInit = { case: "orderSubmission", value: order };
const other = "0b".repeat(32);

/** The record that any executed transaction leaves. */
const ledger: Records = { ledgerEntries: [{ type: TransferType.MARGIN_LOW }] };

/** A node that plays records; it counts what it is asked. With "silent" it does not say which records a hash has. */
async function playing(
  records: Records | "silent" | "not found",
  found: OrderRecord | undefined = undefined,
  /** How often its time is that of the block of the transaction, which the data node is committing. */
  commits = 0,
) {
  const { service } = streamingService(({ signal }) => quiet(signal));
  const asked: string[] = [];
  let committing = commits;
  const node = await serveNode(
    {
      ...service,
      getVegaTime() {
        committing -= 1;
        return { timestamp: committing <= 0 ? 2_000_000n : 1_000_000n };
      },
      listEntities(request, context) {
        asked.push("listEntities");
        if (records === "not found") {
          throw new ConnectError("no rows in result set", Code.NotFound);
        }
        return records === "silent" ? unanswered(request, context) : records;
      },
      getOrder({ orderId }) {
        asked.push("getOrder");
        const own = { partyId: sender.publicKey, marketId: market, size: 10n, remaining: 10n, version: 1n };
        return { order: found && committing <= 0 ? { ...own, ...found, id: orderId } : undefined };
      },
    },
    {
      getVegaTime: () => ({ timestamp: 1_000_000n }),
      lastBlockHeight() {
        asked.push("lastBlockHeight");
        return lastBlockAnswer;
      },
      getSpamStatistics: () => ({}),
    },
  );
  const client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, chainId: lastBlockAnswer.chainId });
  return {
    client,
    asked,
    async [Symbol.asyncDispose]() {
      await client.close();
      await node.close();
    },
  };
}

/** What the records say of a command that was signed and sent. */
async function outcomeOf(command: CommandInit, records: Records, found?: OrderRecord) {
  using runtime = useVirtualRuntime({ io: true });
  await using node = await playing(records, found);
  const tx = await node.client.signCommand(command, { signer: sender });
  return await runtime.until(node.client.outcome(tx, { timeoutMs: 8_000 }));
}

describe("the latest record of an order says of its submission what the network's result says of it", () => {
  // v0.78.0: `core/execution/future/market.go` sets version 1 in submitOrder, amendments count it up; unregisterAndReject ends
  // orders in submissions that fail, and, by `IsStoppingOrder` of `core/types/matching.go`, stops them for some reasons.
  test.each<[string, OrderRecord, "executed" | "failed" | "unknown"]>([
    ["an amendment met an order of the same party", { status: STOPPED, reason: 20, version: 2n }, "executed"],
    ["an amended order was rejected when it was repriced", { status: REJECTED, reason: 14, version: 2n }, "executed"],
    ["it met an order of the same party", { status: STOPPED, reason: OrderError.SELF_TRADING }, "executed"],
    ["it traded, then met its own party", { status: PARTIALLY_FILLED, reason: 20, remaining: 5n }, "executed"],
    ["it found nothing to trade with at once", { status: STOPPED }, "executed"],
    ["its isolated margin did not suffice any more", { status: STOPPED, reason: 51, remaining: 6n }, "executed"],
    ["its isolated margin did not suffice before it traded", { status: STOPPED, reason: 51 }, "executed"],
    ["it is in the book", { status: ACTIVE }, "executed"],
    ["it was filled", { status: FILLED, remaining: 0n }, "executed"],
    ["it was cancelled", { status: CANCELLED }, "executed"],
    ["it expired", { status: EXPIRED }, "executed"],
    ["it is parked", { status: PARKED }, "executed"],
    ["it is not persistent, and out of bounds", { status: STOPPED, reason: 47 }, "failed"],
    ["it is post-only, and would trade", { status: STOPPED, reason: 49 }, "failed"],
    ["it would not reduce the position", { status: STOPPED, reason: 50 }, "failed"],
    ["its margin does not suffice", { status: REJECTED, reason: OrderError.MARGIN_CHECK_FAILED }, "failed"],
    ["its price is none, which is found before it has a version", { status: REJECTED, version: 0n }, "failed"],
    [
      "an iceberg was rejected with its peak",
      { status: REJECTED, reason: 14, remaining: 3n, icebergOrder: { peakSize: 3n, reservedRemaining: 7n } },
      "failed",
    ],
    ["it was rejected after a part had traded", { status: REJECTED, reason: 14, remaining: 6n }, "unknown"],
    ["it was stopped for a reason that no such order has", { status: STOPPED, reason: 48 }, "unknown"],
    ["it has no status", { status: 0 }, "unknown"],
  ])("%s", async (_, found, status) => {
    await expect(outcomeOf(submission, ledger, found)).resolves.toMatchObject({ status });
  });
});

// v0.78.0, `processBlock` in datanode/broker/sqlstore_broker.go: it sends the events of a block, then commits it, and its time is
// that of the next one after that. So one look may lack an order whose ledger entries the next one has.
test("records of a block that the data node is committing are read again when it lists them", async () => {
  using runtime = useVirtualRuntime({ io: true });
  await using node = await playing(ledger, { status: ACTIVE }, 20);
  const tx = await node.client.signCommand(submission, { signer: sender });
  const outcome = await runtime.until(node.client.outcome(tx, { timeoutMs: 60_000 }));
  expect(outcome).toMatchObject({ status: "executed", evidence: "records" });
});

describe("by the hash alone", () => {
  const vote = { partyId: sender.publicKey, proposalId: other, value: Vote_Value.YES };
  test.each<[string, Records, string]>([
    ["an order may be a part of a batch", { orders: [{ id: other, status: ACTIVE }] }, "unknown"],
    ["an order that was rejected, too", { orders: [{ id: other, status: REJECTED, reason: 14 }] }, "unknown"],
    ["a trade, too", { trades: [{ id: other }] }, "unknown"],
    ["a vote is none", { votes: [vote] }, "executed"],
    ["a transfer is none", { transfers: [{ id: other, status: Transfer_Status.REJECTED, reason: "no" }] }, "failed"],
  ])("%s", async (_, records, status) => {
    using runtime = useVirtualRuntime({ io: true });
    await using node = await playing(records);
    const outcome = await runtime.until(node.client.outcome("AB".repeat(32), { timeoutMs: 8_000 }));
    expect(outcome.status).toBe(status);
    if (outcome.status === "unknown") {
      expect(outcome.reason).toMatch(/tradewire outcome --signed FILE.*client\.outcome\(transaction\)/);
    }
  });

  test("what was found is told, with the orders", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using node = await playing({ orders: [{ id: other, status: STOPPED, reason: 49 }] });
    await expect(runtime.until(node.client.outcome("AB".repeat(32), { timeoutMs: 8_000 }))).resolves.toMatchObject({
      lookedAt: expect.arrayContaining([
        {
          place: "records",
          found: `1 orders; order ${other} is STATUS_STOPPED, ORDER_ERROR_POST_ONLY_ORDER_WOULD_TRADE`,
        },
      ]),
    });
  });
});

describe("orders under the hash of a transaction that are not those that it names decide nothing", () => {
  const cancellation: CommandInit = { case: "orderCancellation", value: { marketId: market, orderId: other } };
  const amendment: CommandInit = { case: "orderAmendment", value: { marketId: market, orderId: other, sizeDelta: 1n } };
  // What an order of another party trades with, and what stop orders submit, has the hash of that order's transaction
  // (v0.78.0, `triggerStopOrders` in `core/execution/future/market.go`).
  const own = { id: other, partyId: sender.publicKey };
  const ofAnother: OrderRecord = { id: other, partyId: "0c".repeat(32), status: STOPPED, reason: 50 };
  const triggered: OrderRecord = { id: "0d".repeat(32), partyId: sender.publicKey, status: STOPPED, reason: 50 };
  test.each<[string, CommandInit, OrderRecord[], string]>([
    ["a submission beside one that was triggered", submission, [ofAnother, triggered], "unknown"],
    ["a cancellation beside others", cancellation, [ofAnother, triggered], "unknown"],
    ["a cancellation", cancellation, [ofAnother, triggered, { ...own, status: CANCELLED }], "executed"],
    ["an amendment beside others", amendment, [ofAnother, triggered], "unknown"],
    ["an amendment", amendment, [ofAnother, triggered, { ...own, status: ACTIVE, version: 2n }], "executed"],
    [
      "an amendment that met its own party",
      amendment,
      [{ ...own, status: STOPPED, reason: 20, version: 2n }],
      "executed",
    ],
    ["an amendment whose margin failed", amendment, [{ ...own, status: STOPPED, reason: 51, version: 2n }], "unknown"],
  ])("%s", async (_, command, orders, status) => {
    await expect(outcomeOf(command, { orders })).resolves.toMatchObject({ status });
  });
});

// As a v0.78.0 node recorded changes of the margin mode: margin levels in the new mode and with its factor under the hash, but
// none where the party had that mode and factor before, or where the change failed.
describe("margin levels under the hash of a change of the margin mode show that it was executed", () => {
  const { CROSS_MARGIN, ISOLATED_MARGIN } = MarginMode;
  const own = { partyId: sender.publicKey, marketId: market };
  const isolated = { ...own, marginMode: ISOLATED_MARGIN, marginFactor: "0.9" };
  const change = (more: object): CommandInit => ({
    case: "updateMarginMode",
    value: { marketId: market, mode: UpdateMarginMode_Mode.ISOLATED_MARGIN, marginFactor: "0.90", ...more },
  });
  const toCross = change({ mode: UpdateMarginMode_Mode.CROSS_MARGIN, marginFactor: undefined });
  test.each<[string, CommandInit, MessageInitShape<typeof MarginLevelsSchema>, "executed" | "unknown"]>([
    ["to isolated margin", change({}), isolated, "executed"],
    ["to cross margin", toCross, { ...own, marginMode: CROSS_MARGIN, marginFactor: "0" }, "executed"],
    ["in the old mode", toCross, isolated, "unknown"],
    ["with another factor", change({ marginFactor: "0.8" }), isolated, "unknown"],
    ["of another market", change({}), { ...isolated, marketId: other }, "unknown"],
    ["of another party", change({}), { ...isolated, partyId: other }, "unknown"],
  ])("%s", async (_, command, levels, status) => {
    await expect(outcomeOf(command, { marginLevels: [levels] })).resolves.toMatchObject({ status });
  });
});

test.each<[string, Records | "not found"]>([
  ["none", {}],
  ["not found", "not found"],
])("an order may have come by another proof of work where the records of the hash are %s", async (_, records) => {
  using runtime = useVirtualRuntime({ io: true });
  await using node = await playing(records, { status: ACTIVE });
  const signed = await node.client.signCommand(submission, { signer: sender });
  const { tid = "", nonce = 0n } = signed.pow ?? {};
  const tx = { ...signed, pow: { $typeName: "vega.commands.v1.ProofOfWork" as const, tid, nonce: nonce + 1n } };
  const txHash = transactionHash(tx);
  const outcome = await runtime.until(node.client.outcome(tx, { timeoutMs: 2_000 }));
  expect(outcome).toMatchObject({ status: "unknown", txHash });
  expect(outcome.status === "unknown" && outcome.reason).toMatch(
    new RegExp(`order [0-9a-f]{64} is STATUS_ACTIVE, but no record has the hash ${txHash}`),
  );
});

test("an order proves nothing where the time was up before the records of the hash were read", async () => {
  using runtime = useVirtualRuntime({ io: true });
  await using node = await playing("silent", { status: ACTIVE });
  const tx = await node.client.signCommand(submission, { signer: sender });
  await expect(runtime.until(node.client.outcome(tx, { timeoutMs: 2_000 }))).resolves.toMatchObject({
    status: "unknown",
    reason: expect.stringMatching(
      /order [0-9a-f]{64} is STATUS_ACTIVE, but the deadline passed before the records with the hash [0-9A-F]{64} were read: allow more time$/,
    ),
  });
});

test("a transaction whose signature is of other input data is neither looked for nor sent", async () => {
  await using node = await playing(ledger, { status: ACTIVE });
  const { client, asked } = node;
  const signed = await client.signCommand(submission, { signer: sender });
  const another = await client.signCommand(
    { case: "orderSubmission", value: { ...order, size: 1n } },
    { signer: sender },
  );
  const tx = { ...signed, inputData: another.inputData };
  asked.length = 0;
  const said = "the transaction's signature does not match its input data";
  await expect(client.outcome(tx)).rejects.toMatchObject({ summary: said });
  const submitted = client.submitTransaction({ tx, type: 2 }, { until: "executed" });
  await expect(submitted).rejects.toThrow(RequestError);
  await expect(client.outcome({ ...signed, from: { case: "pubKey", value: other } })).rejects.toThrow(RequestError);
  expect(asked).toEqual([]);
});

describe("on the local node", () => {
  const bid = (price: string, more = {}) => ({ ...order, price, ...more });
  const ask = (price: string, more = {}) => ({ ...order, side: Side.SELL, price, ...more });
  const submit = (value: typeof order): CommandInit => ({ case: "orderSubmission", value });

  test("the network's result and the records agree on an order that meets its own party, or nobody, or may not trade", async () => {
    await using node = await startDevnode({ blockMs: 50 });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    using signer = await signerFromMnemonic(node.mnemonic);
    const { marketData } = await client.service(TradingDataService).getLatestMarketData({ marketId: market });
    const best = BigInt(marketData?.bestOfferPrice || marketData?.markPrice || "100");
    const own = String(best > 1n ? best - 1n : 1n);
    const until = "executed";
    const rest = await client.sendCommand(submit(ask(own)), { signer, until });
    expect(rest.outcome.status).toBe("executed");
    const cases = [
      [bid(own), "executed"],
      [bid(own, { postOnly: true }), "failed"],
      [bid("1", { timeInForce: IOC }), "executed"],
    ] as const;
    for (const [value, status] of cases) {
      const { outcome, transaction } = await client.sendCommand(submit(value), { signer, until });
      expect(outcome).toMatchObject({ status, evidence: "result" });
      await committed(client);
      const later = await client.outcome(transaction);
      expect(later).toMatchObject({ status, evidence: "records", txHash: outcome.txHash });
    }
    const resting = await client.sendCommand(submit(bid("1")), { signer, until });
    const id = (resting.outcome.status === "executed" && resting.outcome.parts[0]?.id) || "";
    const amendment: CommandInit = { case: "orderAmendment", value: { marketId: market, orderId: id, price: own } };
    await client.sendCommand(amendment, { signer, until });
    await committed(client);
    const { order: stopped } = await client.service(TradingDataService).getOrder({ orderId: id });
    expect(stopped).toMatchObject({ status: STOPPED, reason: OrderError.SELF_TRADING, version: 2n });
    await expect(client.outcome(resting.transaction)).resolves.toMatchObject({ status: "executed" });
  });

  // `ListEntities` of v0.78.0 lists no stop orders (datanode/api/trading_data_v2.go), so they have no record by hash. Each one
  // that a market has seen leaves a record by its identifier, also if it was rejected (`SubmitStopOrdersWithIDGeneratorAndOrderIDs`
  // in core/execution/future/market.go).
  const past = { expiresAt: 1n, expiryStrategy: StopOrder_ExpiryStrategy.CANCELS };
  const closing = { ...order, side: Side.SELL, timeInForce: IOC, type: Order_Type.MARKET, price: "", reduceOnly: true };
  const above = { orderSubmission: closing, trigger: { case: "price" as const, value: "9000000" } };
  const below = { orderSubmission: closing, trigger: { case: "trailingPercentOffset" as const, value: "0.990" } };
  const stop = (value: MessageInitShape<typeof StopOrdersSubmissionSchema>): CommandInit => ({
    case: "stopOrdersSubmission",
    value,
  });
  const share = {
    sizeOverrideSetting: StopOrder_SizeOverrideSetting.POSITION,
    sizeOverrideValue: { percentage: "0.50" },
  };
  const tomorrow = {
    expiresAt: BigInt(Date.now() + 86_400_000) * 1_000_000n + 123n, // A data node stores microseconds.
    expiryStrategy: StopOrder_ExpiryStrategy.CANCELS,
  };
  test.each<[string, CommandInit, "executed" | "failed" | "partial"]>([
    ["that waits", stop({ risesAbove: above }), "executed"],
    ["that follows the price and expires", stop({ fallsBelow: { ...below, ...tomorrow } }), "executed"],
    ["whose size is a share of the position", stop({ risesAbove: { ...above, ...share } }), "executed"],
    [
      "that is triggered at once",
      stop({ risesAbove: { ...above, trigger: { case: "price", value: "1" } } }),
      "executed",
    ],
    ["of a pair", stop({ risesAbove: above, fallsBelow: below }), "executed"],
    ["that was rejected", stop({ risesAbove: { ...above, ...past } }), "failed"],
    [
      "of a batch, one of which was rejected",
      {
        case: "batchMarketInstructions",
        value: { stopOrdersSubmission: [{ risesAbove: above }, { risesAbove: { ...above, ...past } }] },
      },
      "partial",
    ],
    [
      "after an order",
      {
        case: "batchMarketInstructions",
        value: { submissions: [order], stopOrdersSubmission: [{ risesAbove: above }] },
      },
      "executed",
    ],
  ])("the network's result and the record agree on a stop order %s", async (_, command, status) => {
    await using node = await startDevnode({ blockMs: 0 });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    using signer = await signerFromMnemonic(node.mnemonic);
    await client.sendCommand(submit(bid("1")), { signer }); // A party needs an order, or a position.
    await node.makeBlock();
    const tx = await client.signCommand(command, { signer });
    await client.submitTransaction({ tx, type: 2 });
    await node.makeBlock();
    const outcome = await client.outcome(tx);
    expect(outcome).toMatchObject({ status, evidence: "records", txHash: transactionHash(tx) });
    expect(await client.stopOrder((outcome.status !== "unknown" && outcome.parts.at(-1)?.id) || "")).toBeDefined();
  });

  const ended: CommandInit = { case: "batchMarketInstructions", value: { submissions: [order, order] } };
  const open: CommandInit = {
    case: "batchMarketInstructions",
    value: { cancellations: [{ marketId: market, orderId: other }], submissions: [order] },
  };
  test.each([
    ["each of which has a record", ended, "executed"],
    ["of which a cancellation leaves none where it fails", open, "unknown"],
  ] as const)("the error of a submission knows the parts of a batch, %s", async (_, command, status) => {
    await using node = await startDevnode({ blockMs: 0 });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    using signer = await signerFromMnemonic(node.mnemonic);
    const tx = await client.signCommand(command, { signer });
    node.failNext({ method: "vega.api.v1.CoreService/SubmitTransaction", with: "cut" });
    const error: unknown = await client.submitTransaction({ tx, type: 2 }).catch((reason: unknown) => reason);
    if (!(error instanceof OutcomeUnknownError)) {
      throw error;
    }
    expect(error.transaction.command).toBe("batchMarketInstructions");
    await node.makeBlock();
    for (const sent of [error, tx]) {
      const outcome = await client.outcome(sent);
      expect(outcome.status).toBe(status);
      if (outcome.status === "unknown") {
        expect(outcome.reason).toContain("no record shows the result of cancellations[0]:");
      }
    }
  });

  test("a proposal has its identifier by the network's result, which names its command otherwise", async () => {
    await using node = await startDevnode({ blockMs: 50 });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    using signer = await signerFromMnemonic(node.mnemonic);
    const enactmentTimestamp = BigInt(Math.floor(Date.now() / 1000) + 86_400 * 25);
    const closingTimestamp = BigInt(Math.floor(Date.now() / 1000) + 86_400 * 20);
    const changes = { key: "market.fee.factors.makerFee", value: "0.0001" };
    const change = { case: "updateNetworkParameter", value: { changes } } as const;
    const rationale = { title: "a fee", description: "another one" };
    const command: CommandInit = {
      case: "proposalSubmission",
      value: { rationale, terms: { closingTimestamp, enactmentTimestamp, change } },
    };
    const { outcome } = await client.sendCommand(command, { signer, until: "executed" });
    expect(outcome).toMatchObject({
      evidence: "result",
      parts: [{ brings: "proposal", id: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    });
    const id = (outcome.status !== "unknown" && outcome.parts[0]?.id) || "";
    await committed(client);
    const { data } = await client.service(TradingDataService).getGovernanceData({ proposalId: id });
    expect(data?.proposal?.id).toBe(id);
  });
});
