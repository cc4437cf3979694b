import { equals } from "@bufbuild/protobuf";
import {
  type AccountBalance,
  AccountBalanceSchema,
  TradingDataService,
} from "../../gen/datanode/api/v2/trading_data_pb.js";
import { type Order, Order_Status, OrderSchema, type Position, PositionSchema } from "../../gen/vega/vega_pb.js";
import type { CallOptions } from "../input/call-options.js";
import type { EventType, LiveEventOf } from "../live/event-types.js";
import type { LiveCalls } from "../live/live-call.js";
import { setBounded } from "../signal/collections.js";
import {
  type AccountChange,
  type AccountRecords,
  collectRecords,
  createRecordSet,
  KINDS,
  MAX_RECORDS,
  type RecordKind,
  type RecordRules,
} from "./account-records.js";

/** The account of a party at a time. */
export interface AccountView {
  /**
   * - `live`: the node's listing, with all changes that the node's events have reported.
   * - `reloading`: the connection of the events was lost, and changes may be missing until the records are listed again.
   */
  readonly state: "live" | "reloading";
  /** The live orders, newest first. */
  readonly orders: readonly Order[];
  /** The positions, including closed ones. */
  readonly positions: readonly Position[];
  /** The balances of all accounts of the party. */
  readonly balances: readonly AccountBalance[];
  /** The changes since the previous view, each once. In the first view, all records. */
  readonly changes: readonly AccountChange[];
  /** The number of times that the connection of the events was lost. */
  readonly gaps: number;
}

/**
 * Creates the account of a party: its records as the node lists them, and the events of its orders.
 *
 * @param calls how to call the node
 * @param partyId the party
 * @param options options of the listings
 * @returns the account, without records
 */
export function createAccountState(calls: LiveCalls, partyId: string, options: CallOptions) {
  const listings = createListings(calls, partyId, options);
  const sets = {
    order: createRecordSet("order", listings.order),
    position: createRecordSet("position", listings.position),
    balance: createRecordSet("balance", listings.balance),
  };
  /** The latest versions of orders in events, and the statuses with which orders ended. */
  const seen = new Map<string, Order>();
  const ends = new Map<string, Order_Status>();
  let state: AccountView["state"] = "live";
  let changes: AccountChange[] = [];
  let gaps = 0;
  let losses = 0;
  let isConnected = true;
  let last: AccountView | undefined;

  const lastOrder = (order: Order): Order => {
    const latest = seen.get(order.id) ?? order;
    return { ...latest, status: ends.get(order.id) ?? latest.status };
  };

  /** Returns whether a listing of orders is older than the events. */
  const isOutdated = (orders: readonly Order[]) =>
    orders.some((order) => {
      const latest = seen.get(order.id);
      return ends.has(order.id) || (latest !== undefined && isOlderOrder(order, latest));
    });

  function observeOrder(order: Order): void {
    setBounded(seen, order.id, order, MAX_RECORDS);
    if (order.status === Order_Status.ACTIVE || order.status === Order_Status.PARKED) {
      ends.delete(order.id);
    } else {
      setBounded(ends, order.id, order.status, MAX_RECORDS);
    }
  }

  /** Lists the records of a kind. Returns whether the listing is as new as what is known. */
  async function refreshKind(kind: RecordKind): Promise<boolean> {
    let changed: readonly AccountChange[] | undefined;
    switch (kind) {
      case "order": {
        const orders = await listings.order.list();
        changed = isOutdated(orders) ? undefined : sets.order.replace(orders, lastOrder);
        break;
      }
      case "position":
        changed = sets.position.replace(await listings.position.list(), (position) => position);
        break;
      case "balance":
        changed = sets.balance.replace(await listings.balance.list(), (balance) => balance);
        break;
    }
    changes.push(...(changed ?? []));
    return changed !== undefined;
  }

  return {
    connectionLost(): void {
      gaps += state === "live" ? 1 : 0;
      losses += 1;
      state = "reloading";
      isConnected = false;
    },

    connectionWorks(): void {
      isConnected = true;
    },

    /** Applies the order events. */
    observe(event: LiveEventOf<EventType>): void {
      if (event.kind === "order") {
        observeOrder(event.value);
      } else if (event.kind === "cancelledOrders" || event.kind === "expiredOrders") {
        const status = event.kind === "cancelledOrders" ? Order_Status.CANCELLED : Order_Status.EXPIRED;
        for (const id of event.value.orderIds) {
          setBounded(ends, id, status, MAX_RECORDS);
        }
      }
    },

    /** Lists records of these kinds. Returns whether the listings are as new as the known state. */
    async refresh(kinds: readonly RecordKind[]): Promise<boolean> {
      const lossesBefore = losses;
      const isComplete = isConnected && kinds.length === KINDS.length;
      const current = await Promise.all(kinds.map(refreshKind));
      if (current.includes(false)) {
        return false;
      }
      if (isComplete && losses === lossesBefore) {
        state = "live";
      }
      return true;
    },

    /** Returns the account if it has changed since the last view. */
    takeView(): AccountView | undefined {
      if (last !== undefined && changes.length === 0 && last.state === state && last.gaps === gaps) {
        return undefined;
      }
      const records = { orders: sets.order.list(), positions: sets.position.list(), balances: sets.balance.list() };
      last = { state, ...records, changes, gaps };
      changes = [];
      return last;
    },
  };
}

/** How the records of each kind are listed and compared. */
type Listings = {
  readonly [K in RecordKind]: RecordRules<AccountRecords[K]> & { list(): Promise<AccountRecords[K][]> };
};

function createListings({ records }: LiveCalls, partyId: string, options: CallOptions): Listings {
  const { listAccounts, listAllPositions, listOrders } = TradingDataService.method;
  const partyIds = [partyId];
  const pagination = { newestFirst: true };
  return {
    order: {
      list: () => collectRecords(records(listOrders, { filter: { partyIds, liveOnly: true }, pagination }, options)),
      keyOf: ({ id }) => id,
      isEqual: (a, b) => equals(OrderSchema, a, b),
      isOlder: isOlderOrder,
    },
    position: {
      list: () => collectRecords(records(listAllPositions, { filter: { partyIds }, pagination }, options)),
      keyOf: ({ marketId }) => marketId,
      isEqual: (a, b) => equals(PositionSchema, a, b),
      isOlder: (a, b) => a.updatedAt < b.updatedAt,
    },
    balance: {
      list: () => collectRecords(records(listAccounts, { filter: { partyIds }, pagination }, options)),
      keyOf: ({ asset, marketId, type, owner }) => `${asset} ${marketId} ${type} ${owner}`,
      isEqual: (a, b) => equals(AccountBalanceSchema, a, b),
      isOlder: () => false, // Balances have neither a version nor a time.
    },
  };
}

/** Compares times in microseconds, as data nodes store them; events have nanoseconds. */
function isOlderOrder(a: Order, b: Order): boolean {
  return a.version < b.version || (a.version === b.version && a.updatedAt / 1000n < b.updatedAt / 1000n);
}
