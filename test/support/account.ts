import {
  type AccountChange,
  type AccountView,
  type Client,
  Order_TimeInForce,
  Order_Type,
  Side,
  type Signer,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import type { Devnode } from "tradewire/devnode";
import { openMarket } from "./devnode.js";
import { collect, failureOf } from "./listing-clients.js";

/** An account that is being read. Disposing of it ends the reading. */
export interface ReadAccount extends AsyncDisposable {
  /** The states that came, oldest first. */
  readonly views: readonly AccountView[];
  last(): AccountView | undefined;
  /** All changes that came. */
  changes(): AccountChange[];
  /** Why the reading ended. */
  readonly failed: Promise<unknown>;
}

/** Reads the states of an account. */
export function readAccount(client: Pick<Client, "account">, partyId: string): ReadAccount {
  const controller = new AbortController();
  const views: AccountView[] = [];
  const failed = failureOf(async () => {
    for await (const view of client.account(partyId, { signal: controller.signal })) {
      views.push(view);
    }
  });
  return {
    views,
    last: () => views.at(-1),
    changes: () => views.flatMap(({ changes }) => changes),
    failed,
    async [Symbol.asyncDispose]() {
      controller.abort();
      await failed;
    },
  };
}

/** The records of an account in text, whatever their order. */
export type AccountText = Record<"orders" | "stopOrders" | "positions" | "balances", string[]>;

/** Returns records in text, sorted. */
function texts(records: readonly object[]): string[] {
  const text = (record: object) =>
    JSON.stringify(record, (_, value) => (typeof value === "bigint" ? String(value) : value));
  return records.map(text).sort();
}

/** Returns the records of a view, to be compared with {@link listedAccount}. */
export function textOf(view: AccountView | undefined): AccountText | undefined {
  return (
    view && {
      orders: texts(view.orders),
      stopOrders: texts(view.stopOrders),
      positions: texts(view.positions),
      balances: texts(view.balances),
    }
  );
}

function keyOf({ kind, record }: AccountChange): string {
  switch (kind) {
    case "order":
      return record.id;
    case "stopOrder":
      return record.stopOrder.id;
    case "position":
      return record.marketId;
    case "balance":
      return `${record.asset} ${record.marketId} ${record.type}`;
  }
}

/** Applies all changes that came, one after the other, and returns the records that are then listed. */
export function textOfChanges(changes: readonly AccountChange[]): AccountText {
  const sets = {
    order: new Map<string, object>(),
    stopOrder: new Map<string, object>(),
    position: new Map<string, object>(),
    balance: new Map<string, object>(),
  };
  for (const change of changes) {
    const { kind, record, previous, isListed } = change;
    const key = keyOf(change);
    const known = sets[kind].get(key);
    if (texts(known === undefined ? [] : [known]).join() !== texts(previous === undefined ? [] : [previous]).join()) {
      throw new Error(`the change of ${kind} ${key} does not continue the one before`);
    }
    sets[kind].delete(key);
    if (isListed) {
      sets[kind].set(key, record);
    }
  }
  const { order, stopOrder, position, balance } = sets;
  return {
    orders: texts([...order.values()]),
    stopOrders: texts([...stopOrder.values()]),
    positions: texts([...position.values()]),
    balances: texts([...balance.values()]),
  };
}

/** Returns the records that a node lists of a party. */
export async function listedAccount(client: Client, partyId: string): Promise<AccountText> {
  const { listAccounts, listAllPositions, listOrders, listStopOrders } = TradingDataService.method;
  const filter = { partyIds: [partyId] };
  const nodes = async <T extends object>(records: AsyncIterable<{ readonly node: T }>) =>
    texts((await collect(records)).map(({ node }) => node));
  return {
    orders: await nodes(client.records(listOrders, { filter: { ...filter, liveOnly: true } })),
    stopOrders: await nodes(client.records(listStopOrders, { filter: { ...filter, liveOnly: true } })),
    positions: await nodes(client.records(listAllPositions, { filter })),
    balances: await nodes(client.records(listAccounts, { filter })),
  };
}

/**
 * Changes the account of a party in one block: orders rest, one trades with the other party, a stop order waits, and in every third
 * turn, all that rest and wait are cancelled before.
 */
export async function changeAccount(
  client: Client,
  node: Devnode,
  signer: Signer,
  other: Signer,
  turn: number,
): Promise<void> {
  const shared = { marketId: openMarket, type: Order_Type.LIMIT };
  const rest = { ...shared, timeInForce: Order_TimeInForce.GTC };
  const resting = [1, 2, 3].map((number) => ({
    ...rest,
    side: Side.BUY,
    price: String(1 + ((turn + number) % 30)),
    size: 2n,
  }));
  const taking = {
    ...shared,
    timeInForce: Order_TimeInForce.IOC,
    side: Side.BUY,
    price: "9000000",
    size: BigInt(1 + (turn % 3)),
  };
  const cancellations = turn % 3 === 2 ? [{ marketId: openMarket }] : [];
  const stop = {
    ...shared,
    timeInForce: Order_TimeInForce.IOC,
    side: Side.SELL,
    price: "1",
    size: 1n,
    reduceOnly: true,
  };
  const value = {
    cancellations,
    submissions: [...resting, taking],
    stopOrdersCancellation: cancellations,
    stopOrdersSubmission: [
      { risesAbove: { orderSubmission: stop, trigger: { case: "price", value: "99000000" } as const } },
    ],
  };
  const making = { ...rest, side: Side.SELL, price: "9000000", size: 5n };
  await client.sendCommand({ case: "orderSubmission", value: making }, { signer: other });
  await node.makeBlock();
  await client.sendCommand({ case: "batchMarketInstructions", value }, { signer });
  await node.makeBlock();
}
