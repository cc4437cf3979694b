import { fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import {
  createClient,
  Order_TimeInForce,
  Order_Type,
  ProtocolError,
  Side,
  StopOrder_ExpiryStrategy,
  signerFromMnemonic,
} from "tradewire";
import { CoreService, vega } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { ListStopOrdersResponseSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { readRecorded } from "../../network/recorded.js";
import {
  changeAccount,
  listedAccount,
  type ReadAccount,
  readAccount,
  textOf,
  textOfChanges,
} from "../../support/account.js";
import { startCuttingProxy } from "../../support/cutting-proxy.js";
import { openMarket } from "../../support/devnode.js";
import { eventOf, quiet, streamingService } from "../../support/event-server.js";
import { eventually } from "../../support/eventually.js";
import { clientsOf, ways } from "../../support/listing-clients.js";
import { serveNode } from "../../support/node.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../support/virtual-runtime.js";

const retry = { baseMs: 1, maxMs: 5 };
const party = "a1".repeat(32);

const startNode = () => startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });

/** The two parties that trade. */
async function signersOf(node: Devnode) {
  return {
    signer: await signerFromMnemonic(node.mnemonic),
    other: await signerFromMnemonic(node.mnemonic, { index: 2 }),
  };
}

/** Waits until an account is what the node lists. */
async function untilListed(account: ReadAccount, listed: Awaited<ReturnType<typeof listedAccount>>): Promise<void> {
  const text = JSON.stringify(listed);
  await eventually(() => account.last()?.state === "live" && JSON.stringify(textOf(account.last())) === text);
  expect(textOfChanges(account.changes())).toEqual(listed);
}

describe("the account of a party", () => {
  it.each(ways)("is what the node lists after each block, over %s", async (way) => {
    await using node = await startNode();
    const clients = clientsOf(node);
    const client = clients[way];
    const { signer, other } = await signersOf(node);
    await using account = readAccount(client, signer.publicKey.toUpperCase());
    await eventually(() => account.last() !== undefined);
    for (let turn = 0; turn < 3; turn += 1) {
      await changeAccount(client, node, signer, other, turn);
      await untilListed(account, await listedAccount(client, signer.publicKey));
    }
    const { orders = [], stopOrders = [], positions = [], balances = [], gaps } = account.last() ?? {};
    expect([orders.length, stopOrders.length, positions.map(({ openVolume }) => openVolume), gaps]).toEqual([
      3,
      1,
      [6n],
      0,
    ]);
    expect(balances.length).toBeGreaterThan(1);
    await Promise.all(Object.values(clients).map((each) => each.close()));
    expect(await account.failed).toMatchObject({ isClosed: true });
  });

  it("tells how each order ended: filled, cancelled or expired", async () => {
    await using node = await startNode();
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const { signer, other } = await signersOf(node);
    await using account = readAccount(client, signer.publicKey);
    await eventually(() => account.last() !== undefined);
    await node.makeBlock(); // Its end shows that the streams of events are open.
    const { FILLED, CANCELLED, EXPIRED } = vega.Order_Status;
    const shared = { marketId: openMarket, type: Order_Type.LIMIT, size: 1n };
    const good = { ...shared, side: Side.SELL, timeInForce: Order_TimeInForce.GTC };
    const { timestamp } = await client.service(CoreService).getVegaTime({});
    const expiresAt = timestamp + 1_000_000_000_000_000n;
    const seen = (count: number) =>
      eventually(async () => {
        await node.makeBlock(); // If the account is listed again, that needs a later block.
        return account.last()?.state === "live" && account.last()?.orders.length === count;
      });
    const submissions = [
      { ...good, price: "8000000" },
      { ...good, price: "9000000" },
      { ...good, price: "9100000", timeInForce: Order_TimeInForce.GTT, expiresAt },
    ];
    const value = { submissions };
    await client.sendCommand({ case: "batchMarketInstructions", value }, { signer });
    await seen(3);
    const idOf = (price: string) => account.last()?.orders.find((order) => order.price === price)?.id ?? "";
    const [filled, cancelled, expired] = [idOf("8000000"), idOf("9000000"), idOf("9100000")];
    const taking = { ...shared, size: 100_000n, side: Side.BUY, price: "8000000", timeInForce: Order_TimeInForce.IOC };
    await client.sendCommand({ case: "orderSubmission", value: taking }, { signer: other });
    const cancellation = { orderId: cancelled, marketId: openMarket };
    await client.sendCommand({ case: "orderCancellation", value: cancellation }, { signer });
    await seen(1);
    node.setTime(expiresAt + 1n);
    await seen(0);
    const ends = account
      .changes()
      .flatMap((change) =>
        change.kind === "order" && !change.isListed ? [[change.record.id, change.record.status] as const] : [],
      );
    expect(new Map(ends)).toEqual(
      new Map([
        [filled, FILLED],
        [cancelled, CANCELLED],
        [expired, EXPIRED],
      ]),
    );
    expect(ends).toHaveLength(3);
  });

  it("tells how each stop order ended: triggered, cancelled or expired", async () => {
    await using node = await startNode();
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const { signer, other } = await signersOf(node);
    await using account = readAccount(client, signer.publicKey);
    await eventually(() => account.last() !== undefined);
    await node.makeBlock();
    const { TRIGGERED, CANCELLED, EXPIRED } = vega.StopOrder_Status;
    const { timestamp } = await client.service(CoreService).getVegaTime({});
    const expiresAt = timestamp + 1_000_000_000_000_000n;
    const seen = (count: number) =>
      eventually(async () => {
        await node.makeBlock();
        return account.last()?.state === "live" && account.last()?.stopOrders.length === count;
      });
    const shared = { marketId: openMarket, type: Order_Type.LIMIT, size: 1n };
    const stopped = { ...shared, side: Side.SELL, price: "1", timeInForce: Order_TimeInForce.IOC, reduceOnly: true };
    const rising = (value: string, more: object = {}) => ({
      risesAbove: { orderSubmission: stopped, trigger: { case: "price", value } as const, ...more },
    });
    const resting = { ...shared, side: Side.BUY, price: "1", timeInForce: Order_TimeInForce.GTC };
    await client.sendCommand({ case: "orderSubmission", value: resting }, { signer });
    const expiry = { expiresAt, expiryStrategy: StopOrder_ExpiryStrategy.CANCELS };
    const stopOrdersSubmission = [rising("9000000"), rising("99000000"), rising("98000000", expiry)];
    await client.sendCommand({ case: "batchMarketInstructions", value: { stopOrdersSubmission } }, { signer });
    await seen(3);
    const idOf = (price: string) =>
      account.last()?.stopOrders.find(({ stopOrder }) => stopOrder.trigger.value === price)?.stopOrder.id ?? "";
    const [triggered, cancelled, expired] = [idOf("9000000"), idOf("99000000"), idOf("98000000")];
    const making = { ...shared, side: Side.SELL, price: "9500000", timeInForce: Order_TimeInForce.GTC };
    await client.sendCommand({ case: "orderSubmission", value: making }, { signer: other });
    const taking = { ...making, side: Side.BUY, size: 100_000n, timeInForce: Order_TimeInForce.IOC };
    await client.sendCommand({ case: "orderSubmission", value: taking }, { signer });
    await seen(2);
    const cancellation = { stopOrderId: cancelled, marketId: openMarket };
    await client.sendCommand({ case: "stopOrdersCancellation", value: cancellation }, { signer });
    await seen(1);
    node.setTime(expiresAt + 1n);
    await seen(0);
    const ends = account
      .changes()
      .flatMap((change) =>
        change.kind === "stopOrder" && !change.isListed
          ? [[change.record.stopOrder.id, change.record.stopOrder.status] as const]
          : [],
      );
    expect(ends).toEqual([
      [triggered, TRIGGERED],
      [cancelled, CANCELLED],
      [expired, EXPIRED],
    ]);
  });

  // So that a listing cannot show by its time whether it is older than an event.
  it("has stop orders in no version, and without the time of their last change, as v0.78.0 lists them", async () => {
    const { cases } = await readRecorded("methods");
    const { answer = {} } = cases.find(({ method }) => method.endsWith("/ListStopOrders")) ?? {};
    const { orders } = fromJson(ListStopOrdersResponseSchema, answer);
    const listed = orders?.edges.map(({ node }) => node?.stopOrder) ?? [];
    expect(listed.length).toBeGreaterThan(0);
    expect(listed.filter((stopOrder) => stopOrder?.updatedAt !== undefined)).toEqual([]);
  });

  it("is what the node lists after the connection was cut, without a change missing or reported twice", async () => {
    await using node = await startNode();
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using direct = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    await using client = createClient({ transport: "grpc", grpc: { url: proxy.url }, retry });
    const { signer, other } = await signersOf(node);
    await using account = readAccount(client, signer.publicKey);
    for (let turn = 0; turn < 4; turn += 1) {
      await eventually(async () => (await node.makeBlock()) > 0n && account.last()?.state === "live");
      proxy.isDown = true;
      proxy.cut();
      await eventually(() => account.last()?.state === "reloading");
      await changeAccount(direct, node, signer, other, turn); // Nobody hears of it.
      proxy.isDown = false;
      await eventually(async () => (await node.makeBlock()) > 0n && account.last()?.state === "live");
      await untilListed(account, await listedAccount(direct, signer.publicKey));
      expect(account.last()?.gaps).toBe(turn + 1);
    }
  });

  it("ends with the loop and with the signal, and needs a public key", async () => {
    await using node = await startNode();
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    expect(() => client.account("me")).toThrow('partyId must be 64 hex digits (got "me")');
    expect(() => Reflect.apply(client.account, client, [party, { reconnect: true }])).toThrow('"reconnect"');
    for await (const { state, orders, changes } of client.account(party)) {
      expect([state, orders.length, changes.length]).toEqual(["reloading", 0, 0]);
      break;
    }
    const controller = new AbortController();
    const views = client.account(party, { signal: controller.signal })[Symbol.asyncIterator]();
    await views.next();
    const next = views.next();
    controller.abort();
    await expect(next).rejects.toThrow("canceled");
  });

  const page = { pageInfo: { hasNextPage: false } };
  const positionsOf = (updatedAt: bigint) => ({
    positions: { ...page, edges: [{ node: { marketId: openMarket, partyId: party, updatedAt }, cursor: "a" }] },
  });
  const empty = {
    listOrders: () => ({ orders: { ...page, edges: [] } }),
    listStopOrders: () => ({ orders: { ...page, edges: [] } }),
    listAllPositions: () => positionsOf(1n),
    listAccounts: () => ({ accounts: { ...page, edges: [] } }),
  };

  // A node behind a load balancer may lag behind the one that sent the events.
  it("is listed again where a listing is older than the events, or than the one before", async () => {
    const order = (version: bigint, updatedAt: bigint) => ({
      id: "c3".repeat(32),
      partyId: party,
      status: 1,
      version,
      updatedAt,
    });
    const afterEvent = [order(1n, 4000n), order(2n, 5000n), order(3n, 8000n)];
    let hasEvent = false;
    let sendEvent = (): void => {};
    const isAsked = new Promise<void>((resolve) => {
      sendEvent = resolve;
    });
    const { service } = streamingService(async function* ({ requests, signal }) {
      if (requests[0]?.partyId === party) {
        await isAsked;
        hasEvent = true;
        yield [eventOf("7-1", { event: { case: "order", value: order(3n, 9000n) } })];
      }
      yield* quiet(signal);
    });
    await using node = await serveNode({
      ...{ ...service, ...empty },
      listOrders() {
        const listed = hasEvent ? (afterEvent.shift() ?? order(3n, 9000n)) : order(1n, 5000n);
        return { orders: { ...page, edges: [{ node: listed, cursor: "a" }] } };
      },
    });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
    await using account = readAccount(client, party);
    await eventually(() => account.last()?.orders[0]?.updatedAt === 5000n);
    sendEvent();
    await eventually(() => account.last()?.orders[0]?.updatedAt === 9000n);
    const versions = account.changes().flatMap((change) => (change.kind === "order" ? [change.record.version] : []));
    expect(versions).toEqual([1n, 3n]);
    expect(afterEvent).toEqual([]);
  });

  it("compares times in microseconds, as data nodes store them, while events have nanoseconds", async () => {
    const order = (version: bigint, updatedAt: bigint) => ({
      id: "c3".repeat(32),
      partyId: party,
      status: 1,
      version,
      updatedAt,
    });
    let sendEvent = (): void => {};
    const isAsked = new Promise<void>((resolve) => {
      sendEvent = resolve;
    });
    let isChanged = false;
    const { service } = streamingService(async function* ({ requests, signal }) {
      if (requests[0]?.partyId === party) {
        await isAsked;
        isChanged = true;
        yield [eventOf("7-1", { event: { case: "order", value: order(2n, 1_795_698_342_455_369_319n) } })];
      }
      yield* quiet(signal);
    });
    await using node = await serveNode({
      ...{ ...service, ...empty },
      listOrders: () => ({
        orders: {
          ...page,
          edges: [{ node: isChanged ? order(2n, 1_795_698_342_455_369_000n) : order(1n, 0n), cursor: "a" }],
        },
      }),
    });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
    await using account = readAccount(client, party);
    await eventually(() => account.last()?.orders[0]?.version === 1n);
    sendEvent();
    const changed = eventually(() => account.last()?.orders[0]?.version === 2n);
    expect(await Promise.race([account.failed, changed])).toBeUndefined();
  });

  it("reads how an order ended where a listing is ahead of the events", async () => {
    const order = { id: "c3".repeat(32), partyId: party, status: 1, version: 1n, updatedAt: 5000n };
    let isFilled = false;
    const { service } = streamingService(({ signal }) => quiet(signal));
    await using node = await serveNode({
      ...{ ...service, ...empty },
      listOrders: () => ({ orders: { ...page, edges: isFilled ? [] : [{ node: order, cursor: "a" }] } }),
      getOrder: ({ orderId }) => ({ order: { ...order, id: orderId, status: 3, updatedAt: 6000n } }),
    });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
    await using account = readAccount(client, party);
    await eventually(() => account.last()?.orders.length === 1);
    isFilled = true; // The comparison after a second finds it.
    await eventually(() => account.last()?.orders.length === 0);
    expect(account.changes().at(-1)).toMatchObject({ kind: "order", isListed: false, record: { status: 3 } });
  });

  it("reads how a stop order ended where a listing is ahead of the events", async () => {
    const event = (status: number) => ({ stopOrder: { id: "c3".repeat(32), partyId: party, status } });
    let isTriggered = false;
    const { service } = streamingService(({ signal }) => quiet(signal));
    await using node = await serveNode({
      ...{ ...service, ...empty },
      listStopOrders: () => ({ orders: { ...page, edges: isTriggered ? [] : [{ node: event(1), cursor: "a" }] } }),
      getStopOrder: () => ({ order: event(4) }),
    });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
    await using account = readAccount(client, party);
    await eventually(() => account.last()?.stopOrders.length === 1);
    isTriggered = true; // The comparison after a second finds it.
    await eventually(() => account.last()?.stopOrders.length === 0);
    const change = { kind: "stopOrder", isListed: false, record: event(4), previous: event(1) };
    expect(account.changes().at(-1)).toMatchObject(change);
  });

  it("lists no stop order whose end an event has shown, though the listing is behind", async () => {
    const event = (status: number) => ({ stopOrder: { id: "c3".repeat(32), partyId: party, status } });
    let sendEvent = (): void => {};
    const isAsked = new Promise<void>((resolve) => {
      sendEvent = resolve;
    });
    const { service } = streamingService(async function* ({ requests, signal }) {
      if (requests[0]?.partyId === party) {
        await isAsked;
        yield [eventOf("7-1", { event: { case: "stopOrder", value: event(2) } })];
      }
      yield* quiet(signal);
    });
    await using node = await serveNode({
      ...{ ...service, ...empty },
      listStopOrders: () => ({ orders: { ...page, edges: [{ node: event(1), cursor: "a" }] } }),
    });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
    await using account = readAccount(client, party);
    await eventually(() => account.last()?.stopOrders.length === 1);
    sendEvent();
    await eventually(() => account.last()?.stopOrders.length === 0);
    expect(account.changes().at(-1)).toMatchObject({ kind: "stopOrder", isListed: false, record: event(2) });
  });

  it("fails where the node lists older records ten times in a row", async () => {
    let calls = 0;
    const { service } = streamingService(({ signal }) => quiet(signal));
    await using node = await serveNode({
      ...{ ...service, ...empty },
      listAllPositions() {
        calls += 1;
        return positionsOf(calls === 1 ? 2000n : 1000n);
      },
    });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
    await using account = readAccount(client, party);
    const error = await account.failed; // The comparison after a second is the first one with older positions.
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({
      summary: `the node's records of party ${party} are older than those that it sent before`,
    });
    expect(account.last()?.positions[0]?.updatedAt).toBe(2000n);
    expect(calls).toBe(11);
  });

  // A listing right after an event lacked the record for 7 to 185 ms on the network, typically 75, in 20 of 20 cases: a data node
  // commits a block after it has sent the block's events, and before it begins the next one (v0.78.0, `processBlock` in
  // datanode/broker/sqlstore_broker.go).
  describe("on a data node whose listings follow its events", () => {
    const LAG_MS = 75;
    const [BLOCK_NS, START_NS] = [1_000_000_000n, 1_893_456_000_000_000_000n];
    const timeOf = (block: bigint) => START_NS + block * BLOCK_NS;
    const begin = (block: bigint) =>
      eventOf(`${block}-0`, { event: { case: "beginBlock", value: { timestamp: timeOf(block) } } });
    const order = (id: string) => ({
      id: id.repeat(32),
      partyId: party,
      marketId: openMarket,
      status: 1,
      type: Order_Type.LIMIT,
      timeInForce: Order_TimeInForce.GTC,
      size: 1n,
      remaining: 1n,
      version: 1n,
    });
    const stopOrder = { stopOrder: { id: "d5".repeat(32), partyId: party, marketId: openMarket, status: 1 } };
    const balanceOf = (balance: string) => ({ owner: party, asset: "c1".repeat(32), type: 4, balance });

    /** A node that makes a block a second, and lists what was committed. The party's events are those of the test. */
    async function lagging(
      runtime: VirtualRuntime,
      { events, placed }: { readonly events: readonly ReturnType<typeof eventOf>[]; readonly placed: object[] },
    ) {
      const EVENT_BLOCK = 4n;
      let begun = 0n;
      let isCommitted = false;
      const { service } = streamingService(async function* ({ requests, signal }) {
        const isOfParty = requests[0]?.partyId === party;
        for (let block = 1n; !signal.aborted; block += 1n) {
          await runtime.after(1000);
          begun = block;
          yield isOfParty ? (block === EVENT_BLOCK ? events : []) : [begin(block)];
          if (isOfParty && block === EVENT_BLOCK) {
            void runtime.after(LAG_MS).then(() => {
              isCommitted = true;
            });
          }
        }
      });
      const listed = <T>(before: T[], after: T[]) => ({
        ...page,
        edges: (isCommitted ? after : before).map((node) => ({ node, cursor: "a" })),
      });
      const server = await serveNode({
        ...service,
        getVegaTime: () => ({ timestamp: timeOf(begun) }),
        listOrders: () => ({ orders: listed<object>([], placed) }),
        listStopOrders: () => ({ orders: listed([], [stopOrder]) }),
        listAllPositions: () => ({
          positions: listed(
            [{ marketId: openMarket, partyId: party, openVolume: 0n, updatedAt: timeOf(1n) }],
            [{ marketId: openMarket, partyId: party, openVolume: 7n, updatedAt: timeOf(EVENT_BLOCK) }],
          ),
        }),
        listAccounts: () => ({ accounts: listed([balanceOf("100")], [balanceOf("30")]) }),
      });
      return server;
    }

    it("has what an event has shown as soon as the listing has it, although nothing else happens", async () => {
      using runtime = useVirtualRuntime({ io: true });
      const trade = { marketId: openMarket, buyer: party, seller: "d4".repeat(32) };
      await using node = await lagging(runtime, {
        events: [
          eventOf("4-1", { event: { case: "order", value: order("c3") } }),
          eventOf("4-2", { event: { case: "trade", value: trade } }),
          eventOf("4-3", { event: { case: "account", value: { ...balanceOf("30"), marketId: "!" } } }),
          eventOf("4-4", { event: { case: "stopOrder", value: stopOrder } }),
        ],
        placed: [order("c3")],
      });
      await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
      await using account = readAccount(client, party);
      await runtime.pass(3900);
      expect(account.last()).toMatchObject({
        orders: [],
        stopOrders: [],
        positions: [{ openVolume: 0n }],
        balances: [{ balance: "100" }],
      });
      await runtime.pass(600); // The event came after 100 ms of these.
      expect(account.last()).toMatchObject({
        state: "live",
        orders: [{ id: "c3".repeat(32) }],
        stopOrders: [stopOrder],
        positions: [{ openVolume: 7n }],
        balances: [{ balance: "30" }],
      });
    });

    it("is live once the node lists what came before the events", async () => {
      using runtime = useVirtualRuntime({ io: true });
      const options = { blockMs: 0, segments: 1, blocksPerSegment: 10, commitDelayMs: LAG_MS };
      await using node = await startDevnode(options);
      await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
      const { signer } = await signersOf(node);
      const value = { marketId: openMarket, size: 1n, price: "1", side: Side.BUY, timeInForce: Order_TimeInForce.GTC };
      await client.sendCommand({ case: "orderSubmission", value: { ...value, type: Order_Type.LIMIT } }, { signer });
      await node.makeBlock();
      await using account = readAccount(client, signer.publicKey);
      await runtime.pass(0);
      expect(account.views).toMatchObject([{ state: "reloading", orders: [] }]);
      await runtime.pass(LAG_MS);
      for (let block = 0; block < 2; block += 1) {
        await node.makeBlock();
        await runtime.pass(1000);
      }
      expect(account.last()).toMatchObject({ state: "live", orders: [{ price: "1" }], gaps: 0 });
      expect(account.views.every(({ state, orders }) => state === "reloading" || orders.length === 1)).toBe(true);
    });

    it("is what the node lists once it has committed the block of an event, whatever the event has shown", async () => {
      using runtime = useVirtualRuntime({ io: true });
      const events = [eventOf("4-1", { event: { case: "order", value: order("c3") } })];
      await using node = await lagging(runtime, { events, placed: [order("c5")] });
      await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
      await using account = readAccount(client, party);
      await runtime.pass(4900);
      expect(account.last()?.orders).toEqual([]); // The node may not have committed block 4.
      await runtime.pass(700);
      expect(account.last()).toMatchObject({ state: "live", orders: [{ id: "c5".repeat(32) }] });
    });
  });
});
