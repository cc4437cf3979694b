import { setTimeout } from "node:timers/promises";
import { expect } from "@jest/globals";
import {
  type Client,
  createClient,
  type LeaseEvent,
  type Leases,
  type LeasesOptions,
  type MarketCoverage,
  Order_TimeInForce,
  Order_Type,
  type SeedSigner,
  Side,
  type Signer,
  signerFromMnemonic,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { openMarket } from "./devnode.js";
import { eventually } from "./eventually.js";

/** The time between two blocks by their own clock, in milliseconds. */
const BLOCK_MS = 20;

/**
 * Short leases. They end by the clock of blocks, which goes no faster than this process can follow. The workers that find proofs of
 * work can be slower, so a lease outlives ten renewals.
 */
export const TIMES = { leaseMs: 3000, renewEveryMs: 300, flattenAfterMs: 3500 };

/** Leases of a key of a local node. */
export interface Started extends AsyncDisposable {
  readonly node: Devnode;
  readonly client: Client;
  readonly signer: SeedSigner;
  readonly leases: Leases;
  /** What has happened to the leases. */
  readonly events: LeaseEvent[];
}

/**
 * Starts a node whose blocks are 20 ms apart by their own clock, however long this machine takes for them. As deployed
 * networks do, it gives the order of a stop order an identifier of its own.
 */
export async function startNode(): Promise<Devnode> {
  const node = await startDevnode({ profile: "deployed", blockMs: 0, segments: 1, blocksPerSegment: 20 });
  const stop = new AbortController();
  let time = Date.now() + 7_200_000;
  const makeBlock = async () => {
    time += BLOCK_MS;
    const began = performance.now();
    node.setTime(new Date(time));
    await node.makeBlock();
    time += Math.ceil(performance.now() - began); // The node's clock went on while it made the block.
  };
  await makeBlock();
  const making = (async () => {
    while (!stop.signal.aborted) {
      await setTimeout(BLOCK_MS);
      await makeBlock();
    }
  })();
  const close = async () => {
    stop.abort();
    await making;
    await node.close();
  };
  return { ...node, close, [Symbol.asyncDispose]: close };
}

/** Starts a node, and the leases of one of its keys. */
export async function start(options: Partial<LeasesOptions> = {}): Promise<Started> {
  const node = await startNode();
  const client = clientOf(node.grpcUrl);
  const signer = await signerFromMnemonic(node.mnemonic);
  const events: LeaseEvent[] = [];
  const leases = client.leases({ signer, ...TIMES, onEvent: (event) => void events.push(event), ...options });
  return {
    ...{ node, client, signer, leases, events },
    async [Symbol.asyncDispose]() {
      leases.close();
      await client.close();
      signer[Symbol.dispose]();
      await node.close();
    },
  };
}

/** Creates a client that gives up soon. */
export function clientOf(url: string): Client {
  return createClient({ profile: "deployed", grpc: { url }, retry: { baseMs: 10, maxMs: 50, tries: 2 } });
}

/** A limit order far below the market, so that it rests. */
export const limitOrder = (more: object = {}) => ({
  case: "orderSubmission" as const,
  value: { marketId: openMarket, size: 1n, type: Order_Type.LIMIT, side: Side.BUY, price: "1", ...more },
});

/** Opens a position of the key by a market order; a negative volume sells. */
export async function trade(
  { client, signer }: { readonly client: Client; readonly signer: Signer },
  volume: bigint,
): Promise<void> {
  const value = {
    marketId: openMarket,
    size: volume < 0n ? -volume : volume,
    side: volume < 0n ? Side.SELL : Side.BUY,
    type: Order_Type.MARKET,
    timeInForce: Order_TimeInForce.IOC,
  };
  const { outcome } = await client.sendCommand({ case: "orderSubmission", value }, { signer, until: "executed" });
  expect(outcome.status).toBe("executed");
}

/** The node's record of an order. */
export async function orderOf({ client }: { readonly client: Client }, orderId: string) {
  const { order } = await client.service(TradingDataService).getOrder({ orderId });
  return order;
}

/** The position of the key by the node's records. */
export async function volumeOf({
  client,
  signer,
}: {
  readonly client: Client;
  readonly signer: Signer;
}): Promise<bigint> {
  const filter = { partyIds: [signer.publicKey], marketIds: [openMarket] };
  const { positions } = await client.service(TradingDataService).listAllPositions({ filter });
  return positions?.edges[0]?.node?.openVolume ?? 0n;
}

/** The stop orders of the key that are pending by the node's records. */
export async function pendingStops({ client, signer }: { readonly client: Client; readonly signer: Signer }) {
  const found = [];
  for await (const record of client.stopOrders({ parties: [signer.publicKey], live: true })) {
    found.push(record);
  }
  return found;
}

/** The coverage of the market. */
export function marketOf({ leases }: { readonly leases: Leases }): MarketCoverage | undefined {
  return leases.coverage().markets.find(({ marketId }) => marketId === openMarket);
}

/** Whether the position is covered. */
export function isCovered(started: { readonly leases: Leases }): boolean {
  return marketOf(started)?.position.status === "covered";
}

/** Waits for so much of the chain's time. */
export async function passes({ leases }: { readonly leases: Leases }, ms: number): Promise<void> {
  const now = () => Number((leases.coverage().chainTime ?? 0n) / 1_000_000n);
  await eventually(() => now() > 0);
  const from = now();
  await eventually(() => now() >= from + ms);
}
