import type { Client as ConnectClient } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";
import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { type Order, Order_Status } from "../../../gen/vega/vega_pb.js";
import { undefinedIf } from "../../base/errors/not-found.js";
import type { Paging } from "../../data/listing/paging.js";
import { collectRecords } from "../market/account-records.js";
import type { Transactions } from "../transaction/transactions.js";
import type { Observed, OpenOrder, SignedTransaction, UnseenPart } from "./guard-state.js";

/**
 * The maximum number of orders that one observation requests individually. Those requested least often come first, so that many
 * signed but unsent orders do not delay an observation.
 */
const MAX_LOOKUPS = 50;

type AmendmentPart = Extract<UnseenPart, { kind: "amendment" }>;
type SubmittedPart = Exclude<UnseenPart, AmendmentPart>;

/** The calls of a node that a guard needs. They throw the library's errors. */
export interface ObservedCalls {
  readonly data: Pick<
    ConnectClient<typeof TradingDataService>,
    "getOrder" | "getStopOrder" | "getVegaTime" | "listLatestMarketData"
  >;
  readonly core: { getVegaTime(request: object, options: { signal: AbortSignal }): Promise<{ timestamp: bigint }> };
  readonly records: Paging["records"];
  readonly lastBlockHeight: Transactions["lastBlockHeight"];
}

export interface Look {
  readonly observed: Observed;
  /** The last block. */
  readonly height: bigint;
  /** The time of the core's last block before anything was listed, in Unix nanoseconds. */
  readonly time: bigint;
  readonly pastBlocks: number;
  /** Effects that no longer need to be counted: the listed state has them, or they can never be executed. */
  readonly settled: ReadonlySet<UnseenPart>;
  /**
   * Transactions that no block can contain any more, and whose effects are all listed: the data node has begun a later block, and it
   * commits a block before it begins the next one (v0.78.0, `processBlock` in datanode/broker/sqlstore_broker.go).
   */
  readonly over: ReadonlySet<SignedTransaction>;
}

/**
 * Reads the orders, positions and prices of a key. Orders are listed before positions, so that an order that is filled
 * in between counts twice instead of not at all.
 */
export async function lookAtNode(
  calls: ObservedCalls,
  publicKey: string,
  signed: () => readonly SignedTransaction[],
  signal: AbortSignal,
): Promise<Look> {
  const last = await calls.lastBlockHeight({ signal });
  const { timestamp: coreTime } = await calls.core.getVegaTime({}, { signal });
  for (const transaction of signed()) {
    if (transaction.overSince === undefined && last.height >= transaction.lastBlock) {
      transaction.overSince = coreTime;
    }
  }
  const { timestamp: listedUntil } = await calls.data.getVegaTime({}, { signal });
  const orders = await listOrders(calls, publicKey, signal);
  // After the list: what is signed until here may be in it, and would count twice.
  const parts = signed().map((transaction) => ({ transaction, parts: transaction.parts }));
  const settled = new Set<UnseenPart>();
  const over = new Set<SignedTransaction>();
  for (const { transaction, parts: waiting } of parts) {
    if (transaction.overSince !== undefined && transaction.overSince < listedUntil) {
      over.add(transaction);
      for (const part of waiting) {
        settled.add(part);
      }
    }
  }
  const waiting = parts.flatMap(({ parts: each }) => each).filter((part) => !settled.has(part));
  await lookUpMissing(calls, waiting, { orders, settled, signal });
  settleAmendments(waiting, { orders, settled });
  const positions = await collectRecords(
    calls.records(TradingDataService.method.listAllPositions, { filter: { partyIds: [publicKey] } }, { signal }),
  );
  const { marketsData } = await calls.data.listLatestMarketData({}, { signal });
  const marks = marketsData.filter(({ markPrice }) => /^[1-9]\d{0,76}$/.test(markPrice));
  return {
    observed: {
      orders,
      positions: new Map(positions.map(({ marketId, openVolume }) => [marketId, openVolume])),
      marks: new Map(marks.map(({ market, markPrice }) => [market, BigInt(markPrice)])),
    },
    height: last.height,
    time: coreTime,
    pastBlocks: last.spamPowNumberOfPastBlocks,
    settled,
    over,
  };
}

async function listOrders(
  { records }: ObservedCalls,
  publicKey: string,
  signal: AbortSignal,
): Promise<Map<string, OpenOrder>> {
  const request = { filter: { partyIds: [publicKey], liveOnly: true }, pagination: { newestFirst: true } };
  const listed = await collectRecords(records(TradingDataService.method.listOrders, request, { signal }));
  return new Map(listed.map((order) => [order.id, openOrderOf(order)]));
}

/**
 * Settles the orders and stop orders that the node has. Those that are not listed are looked up alone: orders that have
 * ended, those that became live after the list, which are added to it, and those that were never executed.
 */
async function lookUpMissing(
  { data }: ObservedCalls,
  waiting: readonly UnseenPart[],
  look: {
    readonly orders: Map<string, OpenOrder>;
    readonly settled: Set<UnseenPart>;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { orders, settled, signal } = look;
  const missing: SubmittedPart[] = [];
  for (const part of waiting) {
    if (part.kind === "amendment" || part.id === undefined) {
      continue;
    }
    if (orders.has(part.id)) {
      settled.add(part);
    } else {
      missing.push(part);
    }
  }
  missing.sort((a, b) => a.lookups - b.lookups);
  const lookUp = async (part: SubmittedPart) => {
    part.lookups += 1;
    const request = { orderId: part.id ?? "" };
    if (part.kind === "stopOrder") {
      const found = await data.getStopOrder(request, { signal }).catch(undefinedIf(Code.NotFound));
      if (found?.order !== undefined) {
        settled.add(part);
      }
      return;
    }
    const order = (await data.getOrder(request, { signal }).catch(undefinedIf(Code.NotFound)))?.order;
    if (order === undefined) {
      return;
    }
    if (order.status === Order_Status.ACTIVE || order.status === Order_Status.PARKED) {
      orders.set(order.id, openOrderOf(order));
    }
    settled.add(part);
  };
  await Promise.all(missing.slice(0, MAX_LOOKUPS).map(lookUp));
}

/**
 * Settles the amendments that the listed orders have. An amendment raises the version of its order by 1 (v0.78.0,
 * `ApplyOrderAmendment` in core/types/matching.go). Transactions may be executed in a different order than they were
 * signed in, so all of an order's amendments are seen together.
 */
function settleAmendments(
  waiting: readonly UnseenPart[],
  { orders, settled }: { readonly orders: ReadonlyMap<string, OpenOrder>; readonly settled: Set<UnseenPart> },
): void {
  const amendments = waiting.filter((part) => part.kind === "amendment");
  const isSeen = ({ orderId, seenFrom }: AmendmentPart) => {
    const version = orders.get(orderId)?.version;
    return version !== undefined && seenFrom !== undefined && version >= seenFrom;
  };
  const pending = new Set(amendments.filter((part) => !isSeen(part)).map(({ orderId }) => orderId));
  for (const part of amendments) {
    if (!pending.has(part.orderId)) {
      settled.add(part);
    }
  }
}

function openOrderOf(order: Order): OpenOrder {
  const { id, marketId, side, size, version, peggedOrder, icebergOrder } = order;
  const isPegged = peggedOrder !== undefined;
  return {
    id,
    marketId,
    side,
    isPegged,
    price: isPegged || !/^\d{1,77}$/.test(order.price) ? 0n : BigInt(order.price),
    size,
    remaining: order.remaining + (icebergOrder?.reservedRemaining ?? 0n),
    version,
  };
}
