import { describe, expect, it } from "@jest/globals";
import { createClient, Order_TimeInForce, Order_Type, ProtocolError, Side, signerFromMnemonic } from "tradewire";
import { CoreService, vega } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import {
  changeAccount,
  listedAccount,
  type ReadAccount,
  readAccount,
  textOf,
  textOfChanges,
} from "../support/account.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { openMarket } from "../support/devnode.js";
import { eventOf, quiet, streamingService } from "../support/event-server.js";
import { eventually } from "../support/eventually.js";
import { clientsOf, ways } from "../support/listing-clients.js";
import { serveNode } from "../support/node.js";

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
    const { orders = [], positions = [], balances = [], gaps } = account.last() ?? {};
    expect([orders.length, positions.map(({ openVolume }) => openVolume), gaps]).toEqual([3, [6n], 0]);
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
    const expiresAt = timestamp + 4_000_000_000n;
    const submissions = [
      { ...good, price: "8000000" },
      { ...good, price: "9000000" },
      { ...good, price: "9100000", timeInForce: Order_TimeInForce.GTT, expiresAt },
    ];
    const value = { submissions };
    await client.sendCommand({ case: "batchMarketInstructions", value }, { signer });
    await node.makeBlock();
    await eventually(() => account.last()?.orders.length === 3);
    const idOf = (price: string) => account.last()?.orders.find((order) => order.price === price)?.id ?? "";
    const [filled, cancelled, expired] = [idOf("8000000"), idOf("9000000"), idOf("9100000")];
    const taking = { ...shared, size: 100_000n, side: Side.BUY, price: "8000000", timeInForce: Order_TimeInForce.IOC };
    await client.sendCommand({ case: "orderSubmission", value: taking }, { signer: other });
    const cancellation = { orderId: cancelled, marketId: openMarket };
    await client.sendCommand({ case: "orderCancellation", value: cancellation }, { signer });
    await node.makeBlock();
    await eventually(() => account.last()?.orders.length === 1);
    node.setTime(expiresAt + 1n);
    await node.makeBlock();
    await eventually(() => account.last()?.orders.length === 0);
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

  it("is what the node lists after the connection was cut, without a change missing or reported twice", async () => {
    await using node = await startNode();
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using direct = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    await using client = createClient({ transport: "grpc", grpc: { url: proxy.url }, retry });
    const { signer, other } = await signersOf(node);
    await using account = readAccount(client, signer.publicKey);
    for (let turn = 0; turn < 4; turn += 1) {
      await eventually(() => account.last()?.state === "live");
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
      expect([state, orders.length, changes.length]).toEqual(["live", 0, 0]);
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

  it("fails where the node lists older records ten times in a row", async () => {
    let calls = 0;
    const { service } = streamingService(({ signal }) => quiet(signal));
    await using node = await serveNode({
      ...{ ...service, ...empty },
      listAllPositions() {
        calls += 1;
        return positionsOf(calls === 1 ? 2n : 1n);
      },
    });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry });
    await using account = readAccount(client, party);
    const error = await account.failed; // The comparison after a second is the first one with older positions.
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({
      summary: `the node's records of party ${party} are older than those that it sent before`,
    });
    expect(account.last()?.positions[0]?.updatedAt).toBe(2n);
    expect(calls).toBe(11);
  });
});
