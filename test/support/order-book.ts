import { type BookGap, type BookView, type Client, Order_TimeInForce, Order_Type, Side, type Signer } from "tradewire";
import type { Devnode } from "tradewire/devnode";
import { openMarket } from "./devnode.js";
import { failureOf } from "./listing-clients.js";

/** An order book that is being read. Disposing of it ends the reading. */
export interface ReadBook extends AsyncDisposable {
  /** The states that came, oldest first. */
  readonly views: readonly BookView[];
  last(): BookView | undefined;
  /** Why the reading ended. */
  readonly failed: Promise<unknown>;
}

/** Reads the states of an order book. */
export function readBook(client: Pick<Client, "book">, marketId: string, onGap?: (gap: BookGap) => void): ReadBook {
  const controller = new AbortController();
  const views: BookView[] = [];
  const failed = failureOf(async () => {
    for await (const view of client.book(marketId, { signal: controller.signal, onGap })) {
      views.push(view);
    }
  });
  return {
    views,
    last: () => views.at(-1),
    failed,
    async [Symbol.asyncDispose]() {
      controller.abort();
      await failed;
    },
  };
}

/**
 * Changes the book of the local node's market in one block: orders at several prices; in every third turn, all orders are
 * cancelled before.
 */
export async function changeBook(client: Client, node: Devnode, signer: Signer, turn: number): Promise<void> {
  const shared = { marketId: openMarket, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC };
  const order = (at: number) =>
    at % 2 === 0
      ? { ...shared, size: BigInt(1 + (at % 7)), side: Side.BUY, price: String(1 + (at % 50)) }
      : { ...shared, size: BigInt(1 + (at % 7)), side: Side.SELL, price: String(9_000_000 + (at % 50)) };
  const cancellations = turn % 3 === 2 ? [{ marketId: openMarket }] : [];
  const submissions = [1, 2, 3, 4, 5].map((number) => order(turn * 13 + number * 7));
  await client.sendCommand({ case: "batchMarketInstructions", value: { cancellations, submissions } }, { signer });
  await node.makeBlock();
}
