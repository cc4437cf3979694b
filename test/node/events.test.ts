import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, createClient as createServiceClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "@jest/globals";
import { type CommandInit, createClient, signerFromMnemonic, transactionHash } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import {
  type ObserveTransactionResultsResponse,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { BusEventType } from "tradewire/gen/vega/events/v1/events_pb.js";
import { Order_Status, Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { openMarket } from "../support/devnode.js";
import { type BusRequestInit, type Subscription, subscribe } from "../support/event-bus.js";
import { openPlainSocket } from "../support/plain-socket.js";
import { stopOrder } from "../support/transactions.js";

const small = { segments: 1, blocksPerSegment: 10, blockMs: 0 } as const;
const { BEGIN_BLOCK, END_BLOCK, ORDER, TRADE, STOP_ORDER, TRANSACTION_RESULT, TX_ERROR } = BusEventType;

const open: Subscription[] = [];
afterEach(() => {
  for (const subscription of open.splice(0)) {
    subscription.end();
  }
});

/** Subscribe over gRPC. The request has come when this is done. */
async function subscribed(node: Devnode, service: "data" | "core", first?: BusRequestInit): Promise<Subscription> {
  const transport = createGrpcTransport({ baseUrl: node.grpcUrl });
  const observe =
    service === "data"
      ? createServiceClient(TradingDataService, transport).observeEventBus
      : createServiceClient(CoreService, transport).observeEventBus;
  const subscription = subscribe(observe, first);
  open.push(subscription);
  await caughtUp(transport);
  return subscription;
}

/** Wait until the node has taken what was sent before: calls over one connection come in their order. */
async function caughtUp(transport: Transport): Promise<void> {
  for (let call = 0; call < 5; call += 1) {
    await createServiceClient(CoreService, transport).getVegaTime({});
  }
}

describe("over gRPC", () => {
  it.each(["data", "core"] as const)("the bus of the %s service tells what a transaction does", async (service) => {
    await using node = await startDevnode(small);
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const signer = await signerFromMnemonic(node.mnemonic);
    const type = [ORDER, TRANSACTION_RESULT, STOP_ORDER, TRADE];
    const ofParty = await subscribed(node, service, { partyId: signer.publicKey, type });
    const blocks = await subscribed(node, service, { type: [BEGIN_BLOCK, END_BLOCK] });

    const order = { marketId: openMarket, side: Side.BUY, size: 3n, price: "1", reference: "mine" } as const;
    const value = { ...order, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC };
    const sent = await client.sendCommand({ case: "orderSubmission", value }, { signer });
    const failing = { case: "orderCancellation", value: { orderId: "a".repeat(64), marketId: openMarket } } as const;
    const failed = await client.sendCommand(failing, { signer });
    const stop = await client.sendCommand(stopOrder(), { signer });
    const height = await node.makeBlock();

    const events = await ofParty.events();
    const about = events.map(({ id, txHash, type: of, event }) => ({ id, txHash, of, case: event.case }));
    const of = (hash: string, name: string, number: BusEventType) => ({
      id: expect.stringMatching(`^${height}-\\d+$`),
      txHash: hash,
      of: number,
      case: name,
    });
    expect(about).toEqual([
      of(sent.txHash, "order", ORDER),
      of(sent.txHash, "transactionResult", TRANSACTION_RESULT),
      of(failed.txHash, "transactionResult", TRANSACTION_RESULT),
      ...about.slice(3),
    ]);
    expect(about.slice(3).map(({ txHash, case: name }) => [txHash, name])).toContainEqual([
      stop.txHash,
      "transactionResult",
    ]);
    expect(events[0]?.event).toMatchObject({
      case: "order",
      value: { partyId: signer.publicKey, reference: "mine", size: 3n, status: Order_Status.ACTIVE },
    });
    expect(events[1]?.event).toMatchObject({
      case: "transactionResult",
      value: { hash: sent.txHash.toLowerCase(), status: true, extra: { case: undefined } },
    });
    expect(events[2]?.event).toMatchObject({
      case: "transactionResult",
      value: {
        hash: failed.txHash.toLowerCase(),
        status: false,
        extra: { case: "failure", value: { error: expect.any(String) } },
      },
    });

    const bounds = await blocks.events();
    const hash = (await client.lastBlockHeight()).hash.toUpperCase();
    expect(bounds.map(({ id, block, chainId, event }) => ({ id, block, chainId, case: event.case }))).toEqual([
      { id: `${height}-1`, block: hash, chainId: node.chainId, case: "beginBlock" },
      { id: expect.stringMatching(`^${height}-`), block: hash, chainId: node.chainId, case: "endBlock" },
    ]);
    const number = ({ id = "" } = {}) => Number(id.split("-")[1]);
    expect(number(bounds[1])).toBeGreaterThan(number(events.at(-1)));
  });

  // Seen on a real node, v0.78.0; the forms are those of core/events/transaction_result.go and core/events/tx_error.go.
  it("a batch of which a part failed has a result with status false, its errors by part, and an event of its error", async () => {
    await using node = await startDevnode(small);
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const signer = await signerFromMnemonic(node.mnemonic);
    const bus = await subscribed(node, "core", { type: [TRANSACTION_RESULT, TX_ERROR] });
    const transport = createGrpcTransport({ baseUrl: node.grpcUrl });
    const of = (request: { readonly hashes?: string[]; readonly status?: boolean }) =>
      createServiceClient(TradingDataService, transport).observeTransactionResults(request)[Symbol.asyncIterator]();
    const submission = { marketId: openMarket, side: Side.BUY, size: 3n, price: "1" } as const;
    const order = { ...submission, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC };
    const cancellations = [{ marketId: openMarket, orderId: "a".repeat(64) }];
    const value = { cancellations, submissions: [order] };
    const batch: CommandInit = { case: "batchMarketInstructions", value };
    const tx = await client.signCommand(batch, { signer });
    const hash = transactionHash(tx);
    const [successes, byUpperCase, byHash] = [
      of({ status: true }),
      of({ hashes: [hash] }),
      of({ hashes: [hash.toLowerCase()] }),
    ];
    const [success, upperCase, lowerCase] = [successes.next(), byUpperCase.next(), byHash.next()];
    await caughtUp(transport);
    await client.submitTransaction({ tx, type: 2 });
    const single = { case: "orderSubmission", value: order } as const;
    const { txHash: executed } = await client.sendCommand(single, { signer });
    await node.makeBlock();

    const [result, error, next] = await bus.events();
    const failure = { error: "", errors: [{ key: "0", errors: [expect.stringMatching(/./)] }] };
    const partial = {
      hash: hash.toLowerCase(),
      status: false,
      statusDetail: 2,
      extra: { case: "failure", value: failure },
    };
    expect(result).toMatchObject({ txHash: hash, event: { case: "transactionResult", value: partial } });
    expect(error).toMatchObject({
      txHash: hash,
      event: {
        case: "txErrEvent",
        value: {
          partyId: signer.publicKey,
          errMsg: expect.stringMatching(/^Batch Market Instructions - 0 \(.+\)$/),
          transaction: { case: "batchMarketInstructions", value: { cancellations } },
        },
      },
    });
    const wasExecuted = { hash: executed.toLowerCase(), status: true, statusDetail: 1, extra: { case: undefined } };
    expect(next).toMatchObject({ event: { case: "transactionResult", value: wasExecuted } });
    expect((await success).value).toMatchObject({ transactionResults: [wasExecuted] });
    expect((await lowerCase).value).toMatchObject({ transactionResults: [partial] });
    expect(await Promise.race([upperCase, caughtUp(transport)])).toBeUndefined();
  });

  // Seen on the real network: `subscribe` of v0.78.0 in datanode/broker/broker.go leaves the type out, and that in core/broker/broker.go does not.
  it("the errors of transactions come from the data node where their type is named, as the client does", async () => {
    await using node = await startDevnode(small);
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const signer = await signerFromMnemonic(node.mnemonic);
    const ofAll = client.events({ partyId: signer.publicKey })[Symbol.asyncIterator]();
    const first = ofAll.next();
    const open = (service: "core" | "data", type: BusEventType[]) =>
      subscribed(node, service, { type, partyId: signer.publicKey });
    const [unnamed, all, named, core] = await Promise.all([
      open("data", []),
      open("data", [BusEventType.ALL, TX_ERROR]),
      open("data", [TRANSACTION_RESULT, TX_ERROR]),
      open("core", []),
    ]);
    const value = { marketId: openMarket, orderId: "a".repeat(64) };
    await client.sendCommand({ case: "orderCancellation", value }, { signer });
    await node.makeBlock();
    await node.makeBlock();
    const kinds = async (bus: Awaited<ReturnType<typeof open>>) => (await bus.events()).map(({ event }) => event.case);
    expect(await kinds(named)).toEqual(["transactionResult", "txErrEvent"]);
    expect(await kinds(core)).toEqual(["transactionResult", "txErrEvent"]);
    expect(await kinds(unnamed)).toEqual(["transactionResult"]);
    expect(await kinds(all)).toEqual(["transactionResult"]);
    expect([(await first).value?.kind, (await ofAll.next()).value?.kind]).toEqual(["transactionResult", "txErrEvent"]);
    await ofAll.return?.();
  });

  it("results of transactions come when their block is made", async () => {
    await using node = await startDevnode(small);
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const [signer, other] = await Promise.all([1, 2].map((index) => signerFromMnemonic(node.mnemonic, { index })));
    if (signer === undefined || other === undefined) {
      throw new Error("there are no signers");
    }
    const transport = createGrpcTransport({ baseUrl: node.grpcUrl });
    const abort = new AbortController();
    const request = { partyIds: [signer.publicKey], status: true };
    const results: AsyncIterator<ObserveTransactionResultsResponse, undefined> = createServiceClient(
      TradingDataService,
      transport,
    )
      .observeTransactionResults(request, { signal: abort.signal })
      [Symbol.asyncIterator]();
    const first = results.next();
    await caughtUp(transport);
    await client.sendCommand(stopOrder("9000001"), { signer: other });
    const { txHash } = await client.sendCommand(stopOrder("9000002"), { signer });
    await node.makeBlock();
    const answer = (await first).value;
    expect(answer?.transactionResults.map(({ hash, partyId }) => [hash, partyId])).toEqual([
      [txHash.toLowerCase(), signer.publicKey],
    ]);
    expect(answer?.transactionResults[0]?.transaction.case).toBe("stopOrdersSubmission");
    abort.abort();
    await expect(results.next()).rejects.toMatchObject({ code: Code.Canceled });
  });

  it("a stream without its first request ends, and one without its next fails", async () => {
    await using node = await startDevnode(small);
    const silent = await subscribed(node, "data");
    const batches = await subscribed(node, "core", { type: [BEGIN_BLOCK], batchSize: 1n });
    await node.makeBlock();
    expect(await batches.next()).toHaveLength(1);
    await expect(batches.next()).rejects.toMatchObject({ code: Code.Internal });
    expect(await silent.next()).toBeUndefined();
  });
});

it("tells each subscriber the same, over gRPC and over WebSockets", async () => {
  await using node = await startDevnode({ ...small, activity: 3 });
  const type = [ORDER, TRADE, END_BLOCK];
  const grpc = [await subscribed(node, "data", { type }), await subscribed(node, "core", { type })];
  const paths = ["/api/v2/stream/event/bus", "/stream/event/bus"];
  const sockets = await Promise.all(paths.map((path) => openPlainSocket(node.restUrl, path)));
  for (const socket of sockets) {
    socket.send({ type });
    await socket.caughtUp();
  }
  for (let made = 0; made < 5; made += 1) {
    await node.makeBlock();
  }
  const last = "15-";
  /** Read ids until the end of the last block. */
  const idsOf = async (next: () => Promise<readonly { readonly id: string; readonly type: unknown }[]>) => {
    const ids: string[] = [];
    for (let isOver = false; !isOver; ) {
      const events = await next();
      ids.push(...events.map(({ id }) => id));
      isOver = events.some(
        ({ id, type: of }) => id.startsWith(last) && /^(50|BUS_EVENT_TYPE_END_BLOCK)$/.test(`${of}`),
      );
    }
    return ids;
  };
  const ofSockets = sockets.map(({ next }) => async () => {
    const frame = (await next()) ?? {};
    return (frame.result as { readonly events: readonly { readonly id: string; readonly type: unknown }[] }).events;
  });
  const [first = [], ...others] = await Promise.all([...grpc.map(({ events }) => events), ...ofSockets].map(idsOf));
  expect(first.length).toBeGreaterThan(50);
  expect(new Set(first).size).toBe(first.length);
  expect(first.map((id) => id.split("-")[0])).toEqual(expect.arrayContaining(["11", "12", "13", "14", "15"]));
  for (const ids of others) {
    expect(ids).toEqual(first);
  }
  for (const { socket } of sockets) {
    socket.terminate();
  }
});

it("goes on where the node was closed", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "tradewire-events-"));
  const seen: string[] = [];
  for (let start = 0; start < 2; start += 1) {
    await using node = await startDevnode({ ...small, activity: 2, dataDir });
    const bus = await subscribed(node, "data", { type: [BEGIN_BLOCK] });
    for (let made = 0; made < 2; made += 1) {
      await node.makeBlock();
      seen.push(...((await bus.next()) ?? []));
    }
  }
  expect(seen).toEqual(["11-1", "12-1", "13-1", "14-1"]);
  await rm(dataDir, { recursive: true });
});
