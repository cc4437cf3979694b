import { equals } from "@bufbuild/protobuf";
import {
  type AccountBalance,
  AccountBalanceSchema,
  TradingDataService,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { type StopOrderEvent, StopOrderEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  type Account,
  type Order,
  Order_Status,
  OrderSchema,
  type Position,
  PositionSchema,
  StopOrder_Status,
} from "../../../gen/vega/vega_pb.js";
import { type CallOptions, toConnectOptions } from "../../base/input/call-options.js";
import { asResult } from "../../base/json-result.js";
import { setBounded } from "../../base/signal/collections.js";
import { isStopOrderRecord, type StopOrderRecord } from "../../data/listing/listings.js";
import type { EventType, LiveEventOf } from "../live/event-types.js";
import { isOlder, listedTime } from "../live/listed-blocks.js";
import type { LiveCalls } from "../live/live-call.js";
import { isLiveOrder } from "../live/order-lifecycle.js";
import {
  type AccountChange,
  type AccountRecords,
  collectRecords,
  createRecordSet,
  KINDS,
  type Listed,
  type ListingEvents,
  MAX_RECORDS,
  type RecordKind,
  type RecordRules,
} from "./account-records.js";

/** The account of a party at a time. */
export interface AccountView {
  /**
   * - `live`: the node's listing, with all changes that the node's events have reported.
   * - `reloading`: changes may be missing until the node has listed the records again: at first, for a block or two, and after the
   *   connection of the events was lost.
   */
  readonly state: "live" | "reloading";
  /** The live orders, newest first. */
  readonly orders: readonly Order[];
  /** The pending stop orders, newest first, each with the order that is submitted when it triggers. */
  readonly stopOrders: readonly StopOrderRecord[];
  /** The positions, including closed ones. */
  readonly positions: readonly Position[];
  /** The balances of all accounts of the party. */
  readonly balances: readonly AccountBalance[];
  /** The changes since the previous view, each once. In the first view, all records. */
  readonly changes: readonly AccountChange[];
  /** The number of times that the connection of the events was lost. */
  readonly gaps: number;
}

/** Creates the account of a party: its records as the node lists them, and what its events have shown. */
export function createAccountState(calls: LiveCalls, partyId: string, options: CallOptions) {
  const listings = createListings(calls, partyId, options);
  /** The latest versions of orders in events, and the statuses with which orders ended. */
  const seen = new Map<string, Order>();
  const ends = new Map<string, Order_Status>();
  /** The stop orders whose end an event has shown since the connection was last lost. None is pending again. */
  const stopOrderEnds = new Map<string, StopOrderRecord>();
  const awaited = createAwaitedListings();
  let state: AccountView["state"] = "reloading";
  let changes: AccountChange[] = [];
  const report = (changed: readonly AccountChange[]) => changes.push(...changed);
  let gaps = 0;
  let losses = 0;
  /** Whether a block began on the current connections. Events of earlier blocks may be missing. */
  let hasBegun = false;
  let last: AccountView | undefined;

  const lastOrder = (order: Order): Order => {
    const latest = seen.get(order.id) ?? order;
    return { ...latest, status: ends.get(order.id) ?? latest.status };
  };

  /** Returns whether a listing of orders contradicts the events. */
  const isOutdated = (orders: readonly Order[]) =>
    orders.some((order) => {
      const latest = seen.get(order.id);
      return ends.has(order.id) || (latest !== undefined && isOlder(order, latest));
    });

  const orderRules = { ...listings.order, isOutdated, beforeReplace: lookUpEnds, lastOf: lastOrder };
  const stopOrderRules: RecordRules<StopOrderRecord> = {
    ...listings.stopOrder,
    async list() {
      const listed = await listings.stopOrder.list();
      return listed.filter(({ stopOrder }) => !stopOrderEnds.has(stopOrder.id)); // The listing may be behind the events.
    },
    beforeReplace: lookUpStopOrderEnds,
    lastOf: (record) => stopOrderEnds.get(record.stopOrder.id) ?? record,
  };
  const sets = {
    order: createRecordSet("order", orderRules, awaited, report),
    stopOrder: createRecordSet("stopOrder", stopOrderRules, awaited, report),
    position: createRecordSet("position", listings.position, awaited, report),
    balance: createRecordSet("balance", listings.balance, awaited, report),
  };

  function remember(order: Order): void {
    setBounded(seen, order.id, order, MAX_RECORDS);
    if (order.status === Order_Status.ACTIVE || order.status === Order_Status.PARKED) {
      ends.delete(order.id);
    } else {
      setBounded(ends, order.id, order.status, MAX_RECORDS);
    }
  }

  function observeOrder(order: Order, block: bigint): void {
    remember(order);
    if (isLiveOrder(order)) {
      awaited.shown("order", order.id, block, (listed) => listed !== undefined && !isOlder(listed, order));
    } else {
      awaited.ended("order", order.id);
    }
  }

  function observeStopOrder(event: StopOrderEvent, block: bigint): void {
    if (!isStopOrderRecord(event)) {
      return;
    }
    const { id, status } = event.stopOrder;
    if (status !== StopOrder_Status.PENDING) {
      setBounded(stopOrderEnds, id, event, MAX_RECORDS);
      awaited.ended("stopOrder", id);
    } else if (!stopOrderEnds.has(id)) {
      awaited.shown("stopOrder", id, block, (listed) => listed !== undefined);
    }
  }

  function observePosition(marketId: string, block: bigint): void {
    awaited.shown(
      "position",
      marketId,
      block,
      (listed, time) => listed !== undefined && time !== undefined && !isOlder(listed, { updatedAt: time }),
    );
  }

  function observeBalance(account: Account, block: bigint): void {
    const { balance } = account;
    awaited.shown("balance", balanceKey(account), block, (listed) => (listed?.balance ?? "0") === balance);
  }

  function endOrders(ids: readonly string[], status: Order_Status): void {
    for (const id of ids) {
      setBounded(ends, id, status, MAX_RECORDS);
      awaited.ended("order", id);
    }
  }

  /** Reads how orders ended whose end no event has shown: a listing may be ahead of the events, or they were lost. */
  async function lookUpEnds(listed: readonly Order[]): Promise<void> {
    const live = new Set(listed.map(({ id }) => id));
    const unknown = sets.order.list().filter(({ id }) => !(live.has(id) || ends.has(id)));
    const orders = await Promise.all(unknown.slice(0, MAX_LOOKUPS).map(({ id }) => listings.order.read(id)));
    for (const order of orders) {
      if (order !== undefined && !isLiveOrder(order)) {
        remember(order);
      }
    }
  }

  /** Reads how stop orders ended, as {@link lookUpEnds} does for orders. */
  async function lookUpStopOrderEnds(listed: readonly StopOrderRecord[]): Promise<void> {
    const pending = new Set(listed.map(({ stopOrder }) => stopOrder.id));
    const ids = sets.stopOrder.list().map(({ stopOrder }) => stopOrder.id);
    const unknown = ids.filter((id) => !(pending.has(id) || stopOrderEnds.has(id)));
    for (const record of await Promise.all(unknown.slice(0, MAX_LOOKUPS).map(listings.stopOrder.read))) {
      if (record !== undefined && isStopOrderRecord(record) && record.stopOrder.status !== StopOrder_Status.PENDING) {
        setBounded(stopOrderEnds, record.stopOrder.id, record, MAX_RECORDS);
      }
    }
  }

  /** A block began on the current connections. */
  function begin(block: bigint, time: bigint): void {
    awaited.begun(block, time);
    if (!hasBegun) {
      hasBegun = true;
      for (const kind of KINDS) {
        awaited.changed(kind, block - 1n); // Its events came before the connection, and its records may not be listed yet.
      }
    }
  }

  return {
    connectionLost(): void {
      gaps += state === "live" ? 1 : 0;
      losses += 1;
      state = "reloading";
      hasBegun = false;
      stopOrderEnds.clear();
    },

    /** Applies an event. */
    observe({ block, ...event }: LiveEventOf<EventType>): void {
      switch (event.kind) {
        case "beginBlock":
          begin(block, event.value.timestamp);
          break;
        case "order":
          observeOrder(event.value, block);
          break;
        case "stopOrder":
          observeStopOrder(event.value, block);
          break;
        case "cancelledOrders":
          endOrders(event.value.orderIds, Order_Status.CANCELLED);
          break;
        case "expiredOrders":
          endOrders(event.value.orderIds, Order_Status.EXPIRED);
          break;
        case "account":
          observeBalance(event.value, block);
          break;
        case "settleDistressed":
          awaited.changed("order", block);
          observePosition(event.value.marketId, block);
          break;
        case "trade":
        case "settlePosition":
        case "lossSocialization":
          observePosition(event.value.marketId, block);
          break;
        case "settleMarket":
          awaited.changed("order", block);
          awaited.changed("position", block);
          break;
        case "distressedOrders":
          awaited.changed("order", block);
          break;
        case "distressedPositions":
        case "fundingPayments":
          awaited.changed("position", block);
          break;
      }
    },

    /** The kinds whose listings may lack what events have shown. */
    awaited: awaited.kinds,

    /** Lists records of these kinds. */
    async refresh(kinds: readonly RecordKind[]): Promise<Listed> {
      const lossesBefore = losses;
      const until = awaited.kinds().length > 0 ? await listings.time() : undefined;
      const listed = await Promise.all(kinds.map((kind) => sets[kind].refresh(until)));
      const isConfirmed = hasBegun && losses === lossesBefore && awaited.kinds().length === 0;
      if (isConfirmed && listed.every((each) => each === "current")) {
        state = "live";
      }
      return listed.find((each) => each === "outdated") ?? listed.find((each) => each === "behind") ?? "current";
    },

    /** Returns the account if it has changed since the last view. */
    takeView(): AccountView | undefined {
      if (last !== undefined && changes.length === 0 && last.state === state && last.gaps === gaps) {
        return undefined;
      }
      const records = {
        orders: sets.order.list(),
        stopOrders: sets.stopOrder.list(),
        positions: sets.position.list(),
        balances: sets.balance.list(),
      };
      last = asResult({ state, ...records, changes, gaps });
      changes = [];
      return last;
    },
  };
}

/** The maximum number of orders that are read individually after a listing. */
const MAX_LOOKUPS = 100;

type Listings = {
  readonly [K in RecordKind]: RecordRules<AccountRecords[K]>;
} & {
  readonly order: {
    /** Reads an order, live or not; undefined if the node does not return it. */
    read(orderId: string): Promise<Order | undefined>;
  };
  readonly stopOrder: {
    /** Reads a stop order, pending or not; undefined if the node does not return it. */
    read(orderId: string): Promise<StopOrderEvent | undefined>;
  };
  /** The time of the last block that the data node has begun, in Unix nanoseconds. */
  time(): Promise<bigint>;
};

function createListings({ records, service }: LiveCalls, partyId: string, options: CallOptions): Listings {
  const { listAccounts, listAllPositions, listOrders, listStopOrders } = TradingDataService.method;
  const partyIds = [partyId];
  const pagination = { newestFirst: true };
  return {
    time: () => listedTime(service(TradingDataService), toConnectOptions(options)),
    order: {
      list: () => collectRecords(records(listOrders, { filter: { partyIds, liveOnly: true }, pagination }, options)),
      read: (orderId) =>
        service(TradingDataService)
          .getOrder({ orderId }, toConnectOptions(options))
          .then(
            ({ order }) => order,
            () => undefined,
          ),
      keyOf: ({ id }) => id,
      isEqual: (a, b) => equals(OrderSchema, a, b),
      isOlder,
    },
    stopOrder: {
      async list() {
        const filter = { partyIds, statuses: [StopOrder_Status.PENDING] };
        return (await collectRecords(records(listStopOrders, { filter, pagination }, options))).filter(
          isStopOrderRecord,
        );
      },
      read: (orderId) =>
        service(TradingDataService)
          .getStopOrder({ orderId }, toConnectOptions(options))
          .then(
            ({ order }) => order,
            () => undefined,
          ),
      keyOf: ({ stopOrder }) => stopOrder.id,
      isEqual: (a, b) => equals(StopOrderEventSchema, a, b),
      isOlder: () => false, // A pending one does not change, and listings of v0.78.0 have no time of its last change.
    },
    position: {
      list: () => collectRecords(records(listAllPositions, { filter: { partyIds }, pagination }, options)),
      keyOf: ({ marketId }) => marketId,
      isEqual: (a, b) => equals(PositionSchema, a, b),
      isOlder,
    },
    balance: {
      list: () => collectRecords(records(listAccounts, { filter: { partyIds }, pagination }, options)),
      keyOf: balanceKey,
      isEqual: (a, b) => equals(AccountBalanceSchema, a, b),
      isOlder: () => false, // Balances have neither a version nor a time.
    },
  };
}

/** Events name `!` as the market of a general account (v0.78.0, `noMarket` in core/collateral/engine.go). */
function balanceKey({ asset, marketId, type, owner }: Pick<Account, "asset" | "marketId" | "type" | "owner">): string {
  return `${asset} ${marketId === "!" ? "" : marketId} ${type} ${owner}`;
}

/**
 * What events have shown and listings may lack. A data node sends the events of a block before it commits the block, and
 * commits a block completely before it begins the next one (v0.78.0, `processBlock` in datanode/broker/sqlstore_broker.go).
 * So a listing that was requested after the data node began a later block has everything from a block; an earlier listing is older
 * if it lacks what an event of that block has shown.
 */
interface AwaitedListings extends ListingEvents {
  /** A block began, at a time in Unix nanoseconds. */
  begun(block: bigint, time: bigint): void;
  /** An event of a block showed a record. `isIn` returns whether a listed record is that one or a newer one. */
  shown<K extends RecordKind>(
    kind: K,
    key: string,
    block: bigint,
    isIn: (listed: AccountRecords[K] | undefined, blockTime: bigint | undefined) => boolean,
  ): void;
  /** An event showed that a record ended: its listing is no longer awaited. */
  ended(kind: RecordKind, key: string): void;
  /** Records of a kind may have changed in a block or before, without an event that shows how. */
  changed(kind: RecordKind, block: bigint): void;
  /** The kinds whose latest listing may lack changes. */
  kinds(): RecordKind[];
}

interface Shown<T> {
  readonly block: bigint;
  readonly isIn: (listed: T | undefined, blockTime: bigint | undefined) => boolean;
}

/** The maximum number of blocks whose times are stored. */
const MAX_BLOCKS = 1000;

function createAwaitedListings(): AwaitedListings {
  const times = new Map<bigint, bigint>();
  const records: { readonly [K in RecordKind]: Map<string, Shown<AccountRecords[K]>> } = {
    order: new Map(),
    stopOrder: new Map(),
    position: new Map(),
    balance: new Map(),
  };
  const changes = new Map<RecordKind, bigint>();

  /** Returns the last block that a data node has begun at a time: it has committed all blocks before. */
  function begunBy(until: bigint | undefined): bigint {
    let last = -1n;
    for (const [block, time] of times) {
      if (until !== undefined && block > last && time / 1000n <= until / 1000n) {
        last = block;
      }
    }
    return last;
  }

  return {
    begun(block, time) {
      setBounded(times, block, time, MAX_BLOCKS);
    },
    shown(kind, key, block, isIn) {
      setBounded(records[kind], key, { block, isIn }, MAX_RECORDS);
    },
    ended(kind, key) {
      records[kind].delete(key);
    },
    changed(kind, block) {
      const known = changes.get(kind);
      changes.set(kind, known === undefined || known < block ? block : known);
    },
    kinds: () => KINDS.filter((kind) => changes.has(kind) || records[kind].size > 0),
    isOlder(kind, listed, until) {
      const begun = begunBy(until);
      if ((changes.get(kind) ?? begun) < begun) {
        changes.delete(kind);
      }
      for (const [key, { block, isIn }] of records[kind]) {
        if (block < begun || isIn(listed.get(key), times.get(block))) {
          records[kind].delete(key);
        }
      }
      return records[kind].size > 0;
    },
  };
}
