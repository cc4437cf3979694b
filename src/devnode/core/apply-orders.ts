import type { OrderCancellation, OrderSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  Order_TimeInForce,
  Order_TimeInForceSchema,
  Order_Type,
  Order_TypeSchema,
  PeggedReferenceSchema,
  SideSchema,
} from "../../../gen/vega/vega_pb.js";
import { enumNames } from "../data/enum-names.js";
import { readRow } from "../data/row.js";
import { type ExecutedCommand, insertRow, type Sql } from "./command.js";

/**
 * Apply the submission of an order. The local node does not match orders: an order that can rest stays on the book, and
 * one that has to trade at once is stopped.
 *
 * @param sql the database
 * @param executed the command in its block
 * @param order the submission
 * @param id the order's identifier, 64 hex digits
 */
export async function submitOrder(
  sql: Sql,
  { partyId, height, timestamp }: ExecutedCommand,
  order: OrderSubmission,
  id: string,
): Promise<void> {
  const marketId = order.marketId.toLowerCase();
  const reason = await rejectionReason(sql, order, timestamp);
  const mustTrade =
    order.type === Order_Type.MARKET ||
    order.timeInForce === Order_TimeInForce.IOC ||
    order.timeInForce === Order_TimeInForce.FOK;
  const { rows } = await sql.query<{ readonly index: unknown }>(
    "SELECT count(*) AS index FROM live_order WHERE row_height = $1",
    [height],
  );
  const [side] = enumNames(SideSchema, [order.side]);
  const [type] = enumNames(Order_TypeSchema, [order.type]);
  const [timeInForce] = enumNames(Order_TimeInForceSchema, [order.timeInForce]);
  const { peggedOrder, icebergOpts } = order;
  await insertRow(sql, "live_order", {
    row_height: height,
    row_index: rows[0]?.index,
    id: bytes(id),
    market_id: bytes(marketId),
    party_id: bytes(partyId),
    side,
    type,
    time_in_force: timeInForce,
    price: order.price === "" ? "0" : order.price,
    size: order.size,
    remaining: order.size,
    status: reason === undefined ? (mustTrade ? "STATUS_STOPPED" : "STATUS_ACTIVE") : "STATUS_REJECTED",
    reason,
    reference: order.reference.replaceAll("\0", ""), // PostgreSQL's text cannot hold NUL.
    version: 1,
    batch_id: 1,
    ...(peggedOrder && {
      pegged_reference: enumNames(PeggedReferenceSchema, [peggedOrder.reference])[0],
      pegged_offset: peggedOrder.offset,
    }),
    created_at: sqlTime(timestamp),
    vega_time: sqlTime(timestamp),
    expires_at: order.expiresAt === 0n ? undefined : sqlTime(order.expiresAt),
    post_only: order.postOnly,
    reduce_only: order.reduceOnly,
    peak_size: icebergOpts?.peakSize,
    minimum_visible_size: icebergOpts?.minimumVisibleSize,
  });
  await sql.query("UPDATE live_order SET changed = nextval('order_change') WHERE id = decode($1, 'hex')", [id]);
}

/** The reason to reject an order, by its name, if there is one. */
async function rejectionReason(
  sql: Sql,
  { marketId, timeInForce, expiresAt }: OrderSubmission,
  now: bigint,
): Promise<string | undefined> {
  const { rows } = await sql.query<Record<string, unknown>>("SELECT state FROM market WHERE id = decode($1, 'hex')", [
    marketId,
  ]);
  if (rows[0] === undefined) {
    return "ORDER_ERROR_INVALID_MARKET_ID";
  }
  if (readRow(rows[0]).text("state") === "STATE_SETTLED") {
    return "ORDER_ERROR_MARKET_CLOSED";
  }
  return timeInForce === Order_TimeInForce.GTT && expiresAt <= now
    ? "ORDER_ERROR_INVALID_EXPIRATION_DATETIME"
    : undefined;
}

/**
 * Apply the cancellation of a party's orders that still rest: one of them, those on a market, or all.
 *
 * @param sql the database
 * @param executed the command in its block
 * @param cancellation the cancellation; an empty identifier stands for any
 */
export async function cancelOrders(
  sql: Sql,
  { partyId, timestamp }: ExecutedCommand,
  { marketId, orderId }: OrderCancellation,
): Promise<void> {
  await sql.query(
    `UPDATE live_order
     SET status = 'STATUS_CANCELLED', updated_at = $2::timestamptz, vega_time = $2::timestamptz, changed = nextval('order_change')
     WHERE party_id = decode($1, 'hex') AND status = 'STATUS_ACTIVE'
       AND ($3 = '' OR market_id = decode($3, 'hex')) AND ($4 = '' OR id = decode($4, 'hex'))`,
    [partyId, sqlTime(timestamp), marketId, orderId],
  );
}

function bytes(hex: string): Uint8Array {
  return Buffer.from(hex, "hex");
}

/** A time in Unix nanoseconds as PostgreSQL reads it, to the microsecond. */
function sqlTime(nanoseconds: bigint): string {
  const microseconds = nanoseconds / 1000n;
  const seconds = new Date(Number(microseconds / 1_000_000n) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(microseconds % 1_000_000n).padStart(6, "0")}Z`;
}
