import type { MessageInitShape } from "@bufbuild/protobuf";
import type { StatisticsSchema } from "../../../gen/vega/api/v1/core_pb.js";
import { ChainStatus } from "../../../gen/vega/vega_pb.js";
import { unixMs } from "../../runtime/index.js";
import { epochOf, epochTimestamps } from "../data/epochs.js";
import { VERSION } from "../data/network.js";
import type { Streams } from "../data/observe.js";
import type { World } from "../world/world.js";
import type { Blocks } from "./blocks.js";
import type { LocalChain } from "./chain.js";

/** Nanoseconds. */
const SECOND = 1_000_000_000n;

/** What {@link createStatistics} counts. */
export interface StatisticsOptions {
  readonly chainId: string;
  readonly chain: Pick<LocalChain, "counts">;
  readonly blocks: Pick<Blocks, "last">;
  readonly world: World;
  readonly streams: Pick<Streams, "open">;
  /** How much the last block brought. */
  readonly inLastBlock: () => { readonly events: number; readonly orders: number; readonly trades: number };
}

/** The version of CometBFT that v0.78.0 runs on. */
const CHAIN_VERSION = "0.38.8";

/**
 * Prepare the statistics of a node.
 *
 * @param options the chain and its last blocks, how things stand, and the open streams
 * @returns a function that makes them, as they are at the time
 */
export function createStatistics(options: StatisticsOptions): () => MessageInitShape<typeof StatisticsSchema> {
  const { chainId, chain, blocks, world, streams } = options;
  const uptime = rfc3339(now());

  return () => {
    const { height, hash, time } = blocks.last();
    const { waiting, inLastBlock, transactions, bytes, amendments, cancellations } = chain.counts();
    const lastBlock = options.inLastBlock();
    const blockDuration = time - (world.blockAt(height - 1n)?.time ?? time);
    // As the network counts (core/processor/stats.go): of the last block, by its duration in seconds.
    const perSecond = (count: number) => (blockDuration === 0n ? 0n : (BigInt(count) * SECOND) / blockDuration);
    const epoch = epochTimestamps(world, epochOf(height));
    const { orders, trades } = world.totals;
    return {
      status: ChainStatus.CONNECTED,
      chainId,
      appVersion: VERSION,
      blockHeight: height,
      blockHash: hash,
      blockDuration,
      chainVersion: CHAIN_VERSION,
      eventCount: BigInt(lastBlock.events),
      eventsPerSecond: perSecond(lastBlock.events),
      ordersPerSecond: perSecond(lastBlock.orders),
      tradesPerSecond: perSecond(lastBlock.trades),
      averageOrdersPerBlock: world.totals.orders / height,
      averageTxBytes: BigInt(transactions === 0 ? 0 : Math.floor(bytes / transactions)),
      backlogLength: BigInt(waiting),
      txPerBlock: BigInt(inLastBlock),
      genesisTime: rfc3339(world.blockAt(1n)?.time ?? time),
      vegaTime: rfc3339(time),
      currentTime: rfc3339(now()),
      uptime,
      epochSeq: epochOf(height),
      epochStartTime: rfc3339(epoch.startTime),
      epochExpiryTime: rfc3339(epoch.expiryTime),
      totalOrders: orders,
      totalCreateOrder: orders,
      totalAmendOrder: BigInt(amendments),
      totalCancelOrder: BigInt(cancellations),
      totalTrades: trades,
      orderSubscriptions: streams.open("order"),
      tradeSubscriptions: streams.open("trade"),
      accountSubscriptions: streams.open("account"),
      positionsSubscriptions: streams.open("position"),
      marketDataSubscriptions: streams.open("marketData"),
      marketDepthSubscriptions: streams.open("marketDepth"),
      marketDepthUpdatesSubscriptions: streams.open("marketDepthUpdates"),
    };
  };
}

function now(): bigint {
  return BigInt(unixMs()) * 1_000_000n;
}

/** A time in Unix nanoseconds as RFC 3339 has it, without zeros at the end. */
function rfc3339(nanoseconds: bigint): string {
  const seconds = new Date(Number(nanoseconds / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  const fraction = String(nanoseconds % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${seconds}${fraction === "" ? "" : `.${fraction}`}Z`;
}
