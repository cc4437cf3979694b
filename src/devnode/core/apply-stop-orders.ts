import type {
  StopOrderSetup,
  StopOrdersCancellation,
  StopOrdersSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  StopOrder_RejectionReason,
  StopOrder_SizeOverrideSetting,
  StopOrder_Status,
  StopOrder_TriggerDirection,
} from "../../../gen/vega/vega_pb.js";
import { type ExecutedCommand, insertRow, type Sql } from "./command.js";

/**
 * Apply the submission of a stop order, or of a pair.
 *
 * @param sql the database
 * @param executed the command in its block
 * @param submission the stop orders
 * @param ids gives the identifiers of new stop orders
 */
export async function submitStopOrders(
  sql: Sql,
  executed: ExecutedCommand,
  { risesAbove, fallsBelow }: StopOrdersSubmission,
  ids: Generator<string, never>,
): Promise<void> {
  const halves = [
    { setup: risesAbove, direction: StopOrder_TriggerDirection.RISES_ABOVE },
    { setup: fallsBelow, direction: StopOrder_TriggerDirection.FALLS_BELOW },
  ].flatMap(({ setup, direction }) => (setup === undefined ? [] : [{ setup, direction, id: ids.next().value }]));
  const setups = halves.map(({ setup }) => setup);
  const reason = (await hasTooMany(sql, executed.partyId, setups))
    ? StopOrder_RejectionReason.MAX_STOP_ORDERS_PER_PARTY_REACHED
    : rejectionReason(setups, executed.timestamp);
  for (const { setup, direction, id } of halves) {
    const ocoLinkId = halves.find((half) => half.id !== id)?.id;
    await insertRow(sql, "stop_order", stopOrderRow(setup, { ...executed, direction, id, ocoLinkId, reason }));
  }
}

/** The reason to reject stop orders that were submitted together, if there is one. */
function rejectionReason(setups: readonly StopOrderSetup[], now: bigint): StopOrder_RejectionReason | undefined {
  if (setups.some(({ expiresAt }) => expiresAt !== undefined && expiresAt <= now)) {
    return StopOrder_RejectionReason.EXPIRY_IN_THE_PAST;
  }
  if (setups.some(({ orderSubmission }) => orderSubmission?.reduceOnly !== true)) {
    return StopOrder_RejectionReason.MUST_BE_REDUCE_ONLY;
  }
  const [first, second] = setups;
  return second?.expiresAt !== undefined && first?.expiresAt === second.expiresAt
    ? StopOrder_RejectionReason.STOP_ORDER_CANNOT_MATCH_OCO_EXPIRY_TIMES
    : undefined;
}

/** Whether a party would exceed the network's limit of live stop orders on a market. */
async function hasTooMany(sql: Sql, partyId: string, setups: readonly StopOrderSetup[]): Promise<boolean> {
  const { rows } = await sql.query<{ readonly too_many: boolean }>(
    `SELECT count(*) + $3::int > (
       SELECT value::int FROM network_parameter WHERE key = 'spam.protection.max.stopOrdersPerMarket'
     ) AS too_many
     FROM stop_order WHERE party_id = $1 AND market_id = $2 AND status = ${StopOrder_Status.PENDING}`,
    [partyId, setups[0]?.orderSubmission?.marketId ?? "", setups.length],
  );
  return rows[0]?.too_many === true;
}

interface StopOrderFacts extends ExecutedCommand {
  readonly id: string;
  readonly ocoLinkId: string | undefined;
  readonly direction: StopOrder_TriggerDirection;
  readonly reason: StopOrder_RejectionReason | undefined;
}

/** The row of a stop order, by column. Columns that are `undefined` stay NULL. */
function stopOrderRow({ orderSubmission: order, ...setup }: StopOrderSetup, facts: StopOrderFacts) {
  const { trigger } = setup;
  return {
    id: facts.id,
    oco_link_id: facts.ocoLinkId,
    expires_at: setup.expiresAt,
    expiry_strategy: setup.expiresAt === undefined ? undefined : setup.expiryStrategy,
    trigger_direction: facts.direction,
    status: facts.reason === undefined ? StopOrder_Status.PENDING : StopOrder_Status.REJECTED,
    created_at: facts.timestamp,
    order_id: "",
    party_id: facts.partyId,
    market_id: order?.marketId.toLowerCase() ?? "",
    rejection_reason: facts.reason,
    size_override_setting: setup.sizeOverrideSetting ?? StopOrder_SizeOverrideSetting.NONE,
    size_override_percentage: setup.sizeOverrideValue?.percentage,
    trigger_price: trigger.case === "price" ? trigger.value : undefined,
    trailing_percent_offset: trigger.case === "trailingPercentOffset" ? trigger.value : undefined,
    price: order?.price ?? "",
    size: order?.size ?? 0n,
    side: order?.side ?? 0,
    time_in_force: order?.timeInForce ?? 0,
    order_expires_at: order?.expiresAt ?? 0n,
    type: order?.type ?? 0,
    reference: order?.reference.replaceAll("\0", "") ?? "", // PostgreSQL's text cannot hold NUL.
    pegged_reference: order?.peggedOrder?.reference,
    pegged_offset: order?.peggedOrder?.offset ?? "",
    post_only: order?.postOnly ?? false,
    reduce_only: order?.reduceOnly ?? false,
    peak_size: order?.icebergOpts?.peakSize,
    minimum_visible_size: order?.icebergOpts?.minimumVisibleSize,
  };
}

/**
 * Apply the cancellation of a party's pending stop orders: one of them, those on a market, or all.
 *
 * @param sql the database
 * @param executed the command in its block
 * @param cancellation the cancellation; an empty identifier stands for any
 */
export async function cancelStopOrders(
  sql: Sql,
  { partyId, timestamp }: ExecutedCommand,
  { marketId, stopOrderId }: StopOrdersCancellation,
): Promise<void> {
  await sql.query(
    `UPDATE stop_order SET status = ${StopOrder_Status.CANCELLED}, updated_at = $2
     WHERE party_id = $1 AND status = ${StopOrder_Status.PENDING}
       AND ($3 = '' OR market_id = $3) AND ($4 = '' OR id = $4)`,
    [partyId, String(timestamp), (marketId ?? "").toLowerCase(), (stopOrderId ?? "").toLowerCase()],
  );
}
