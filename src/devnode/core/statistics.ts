import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PGlite } from "@electric-sql/pglite";
import type { StatisticsSchema } from "../../../gen/vega/api/v1/core_pb.js";
import { ChainStatus } from "../../../gen/vega/vega_pb.js";
import { epochOf, epochTimestamps } from "../data/epochs.js";
import { VERSION } from "../data/network.js";
import type { Streams } from "../data/observe.js";
import { type Row, readRow } from "../data/row.js";
import { tables } from "../tables/index.js";
import type { LocalChain } from "./chain.js";

/**
 * Prepare the statistics of a node.
 *
 * @param options the chain, its identifier, and the open streams
 * @returns a function that reads them as they stand
 */
export function createStatistics({
  chain,
  chainId,
  streams,
}: {
  readonly chain: LocalChain;
  readonly chainId: string;
  readonly streams: Streams;
}): (pg: PGlite) => Promise<MessageInitShape<typeof StatisticsSchema>> {
  const historyBlocks = chain.blocks.last().height;
  const uptime = rfc3339(now());

  return async (pg) => {
    const { height, hash, time } = chain.blocks.last();
    const { waiting, inLastBlock } = chain.counts();
    const epoch = await epochTimestamps(pg, epochOf(height));
    const { rows } = await pg.query<Row>(
      `SELECT (SELECT count(*) FROM market) AS markets, (SELECT count(*) FROM live_order) AS orders,
         (SELECT vega_time FROM chain_block WHERE height = 1) AS genesis`,
    );
    const { integer } = readRow(rows[0] ?? {});
    const orders = historyBlocks * BigInt(tables.orders.rowsPerBlock) + integer("orders");
    return {
      status: ChainStatus.CONNECTED,
      chainId,
      appVersion: VERSION,
      blockHeight: height,
      blockHash: hash,
      blockDuration: time - (chain.blocks.at(height - 1n)?.time ?? time),
      backlogLength: BigInt(waiting),
      txPerBlock: BigInt(inLastBlock),
      genesisTime: rfc3339(integer("genesis")),
      vegaTime: rfc3339(time),
      currentTime: rfc3339(now()),
      uptime,
      epochSeq: epochOf(height),
      epochStartTime: rfc3339(epoch.startTime),
      epochExpiryTime: rfc3339(epoch.expiryTime),
      totalMarkets: integer("markets"),
      totalOrders: orders,
      totalCreateOrder: orders,
      totalTrades: historyBlocks * BigInt(tables.trades.rowsPerBlock),
      orderSubscriptions: streams.open("order"),
      tradeSubscriptions: streams.open("trade"),
      accountSubscriptions: streams.open("account"),
      positionsSubscriptions: streams.open("position"),
      marketDataSubscriptions: streams.open("marketData"),
      marketDepthSubscriptions: streams.open("marketDepth"),
    };
  };
}

function now(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

/** A time in Unix nanoseconds as RFC 3339 has it, without zeros at the end. */
function rfc3339(nanoseconds: bigint): string {
  const seconds = new Date(Number(nanoseconds / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  const fraction = String(nanoseconds % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${seconds}${fraction === "" ? "" : `.${fraction}`}Z`;
}
