import { create } from "@bufbuild/protobuf";
import {
  type Order,
  Order_Status,
  Order_TimeInForce,
  Order_Type,
  OrderSchema,
  Side,
} from "../../../gen/vega/vega_pb.js";
import type { Block } from "../world/event.js";
import { COUNT, marketId, partyId } from "./chain.js";
import { BOOK_LEVELS, bookLevel } from "./market-data.js";
import { hasBook } from "./markets.js";
import { numberedId } from "./numbers.js";

/** The party whose orders rest on the books when the history ends. It holds no position. */
export const makerId: string = partyId(COUNT.party - 1);

/**
 * Make the orders that rest on the books when the history ends: a level for each, as the markets' data says.
 *
 * @param block the last block of the history, which brings them
 * @param lastTurn gives the number of the block of a market's latest data, from 0
 * @returns the orders, in the order of their priority; on markets that trade continuously
 */
export function restingOrders({ time }: Block, lastTurn: (market: number) => number): Order[] {
  const markets = Array.from({ length: COUNT.market }, (_, market) => market).filter(hasBook);
  return markets.flatMap((market) =>
    ([-1, 1] as const).flatMap((side) =>
      Array.from({ length: BOOK_LEVELS }, (_, level) => {
        const { price, volume } = bookLevel(lastTurn(market), side, level);
        return create(OrderSchema, {
          id: numberedId("resting_order", (market * 2 + (side === 1 ? 1 : 0)) * BOOK_LEVELS + level),
          marketId: marketId(market),
          partyId: makerId,
          side: side === 1 ? Side.SELL : Side.BUY,
          price: String(price),
          size: BigInt(volume),
          remaining: BigInt(volume),
          timeInForce: Order_TimeInForce.GTC,
          type: Order_Type.LIMIT,
          status: Order_Status.ACTIVE,
          createdAt: time,
          reference: `maker ${side === 1 ? "offer" : "bid"} ${level}`,
          version: 1n,
        });
      }),
    ),
  );
}
