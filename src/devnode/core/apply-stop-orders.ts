import type { PGlite, Transaction as SqlTransaction } from "@electric-sql/pglite";
import { sha3_256 } from "@noble/hashes/sha3.js";
import type {
  StopOrderSetup,
  StopOrdersCancellation,
  StopOrdersSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import {
  StopOrder_RejectionReason,
  StopOrder_SizeOverrideSetting,
  StopOrder_Status,
  StopOrder_TriggerDirection,
} from "../../../gen/vega/vega_pb.js";
import { encodeHex } from "../../transaction/hex.js";

/** A command in a block. */
export interface ExecutedCommand {
  readonly command: InputData["command"];
  /** The sender's public key, 64 hex digits. */
  readonly partyId: string;
  /** The transaction's signature, 64 bytes. The identifiers of new stop orders are derived from it. */
  readonly signature: Uint8Array;
  /** The block's time, in Unix nanoseconds. */
  readonly timestamp: bigint;
}

type Sql = Pick<SqlTransaction, "query">;

/**
 * Apply the submissions and cancellations of stop orders in a command, also those in a batch. They are applied all
 * together or not at all.
 *
 * @param pg the database with the table of stop orders
 * @param executed the command, its sender and signature, and the block's time in Unix nanoseconds
 */
export async function applyStopOrders(pg: PGlite, executed: ExecutedCommand): Promise<void> {
  const { command } = executed;
  const ids = identifiers(executed.signature);
  await pg.transaction(async (sql) => {
    switch (command.case) {
      case "stopOrdersSubmission":
        await submit(sql, executed, command.value, ids);
        break;
      case "stopOrdersCancellation":
        await cancel(sql, executed, command.value);
        break;
      case "batchMarketInstructions":
        for (const cancellation of command.value.stopOrdersCancellation) {
          await cancel(sql, executed, cancellation);
        }
        for (const submission of command.value.stopOrdersSubmission) {
          await submit(sql, executed, submission, ids);
        }
        break;
    }
  });
}

/** Identifiers as the network makes them: the hash of the signature, then the hash of that hash, and so on. */
function* identifiers(signature: Uint8Array): Generator<string, never> {
  let hash = sha3_256(signature);
  for (;;) {
    yield encodeHex(hash);
    hash = sha3_256(hash);
  }
}

async function submit(
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
    await insert(sql, stopOrderRow(setup, { ...executed, direction, id, ocoLinkId, reason }));
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

async function insert(sql: Sql, row: ReturnType<typeof stopOrderRow>): Promise<void> {
  const given = Object.entries(row).filter(([, value]) => value !== undefined);
  await sql.query(
    `INSERT INTO stop_order (${given.map(([name]) => name).join(", ")})
     VALUES (${given.map((_, index) => `$${index + 1}`).join(", ")})`,
    given.map(([, value]) => (typeof value === "boolean" ? value : String(value))),
  );
}

async function cancel(
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
