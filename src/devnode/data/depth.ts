import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PGlite } from "@electric-sql/pglite";
import type { PriceLevelSchema } from "../../../gen/vega/vega_pb.js";
import { type Row, readRow } from "./row.js";

/** A market's order book. */
export interface OrderBook {
  readonly marketId: string;
  readonly buy: MessageInitShape<typeof PriceLevelSchema>[];
  readonly sell: MessageInitShape<typeof PriceLevelSchema>[];
  /** Height of the block that changed it last. */
  readonly sequenceNumber: bigint;
}

/**
 * Read a market's order book. Its best prices and their volumes are those of the market's data; the levels behind them
 * are made up.
 *
 * @param pg the database
 * @param marketId the market, 64 hex digits
 * @param maxDepth the most levels of a side; all by default, and where it is 0
 * @returns the levels of both sides, the best first; none for a market that is not there or is settled
 */
export async function marketDepth(pg: PGlite, marketId: string, maxDepth = 0n): Promise<OrderBook> {
  const { rows } = await pg.query<Row>(
    `SELECT * FROM book_level
     WHERE market = decode($1, 'hex') AND ($2::text = '0' OR level < $2::text::numeric) ORDER BY level`,
    [marketId, String(maxDepth)],
  );
  const side = (name: string) =>
    rows
      .filter((row) => row["side"] === name)
      .map((row) => {
        const { text, integer } = readRow(row);
        return { price: text("price"), volume: integer("volume"), numberOfOrders: integer("number_of_orders") };
      });
  return {
    marketId,
    buy: side("SIDE_BUY"),
    sell: side("SIDE_SELL"),
    sequenceNumber: readRow(rows[0] ?? {}).integer("row_height"),
  };
}
