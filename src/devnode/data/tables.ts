import { between, freeText, hash, oneOf } from "../tables/column.js";
import { COUNT } from "../tables/entities.js";
import { networkParameters } from "./network-parameters.js";

/** The number of stop orders. */
const STOP_ORDERS = 10_000;
/** Creation time of the first stop order, in Unix nanoseconds. */
const START = 1_697_702_400_000_000_000n;
/** Time from one stop order to the next, in nanoseconds. */
const INTERVAL = 20_000_000_000n;

const hex = (bytes: string) => `encode(${bytes}, 'hex')`;

/**
 * The SQL that creates and fills the tables behind the listings. Unlike the export tables they are stored, because
 * their rows are few and filters need indexes.
 *
 * Enum values are numbers of the Protobuf definitions, and times are Unix nanoseconds. The first two of every ten stop
 * orders are a pair in which one cancels the other.
 *
 * @param blocksPerSegment the value of the network parameter `snapshot.interval.length`
 * @returns SQL statements
 */
export const listingSchema = (blocksPerSegment: number): string => `
  CREATE TABLE network_parameter (key text COLLATE "C" PRIMARY KEY, value text NOT NULL);
  INSERT INTO network_parameter VALUES ${networkParameters.map(([key, value]) => `(${quoted(key)}, ${quoted(value)})`).join(", ")};
  UPDATE network_parameter SET value = '${blocksPerSegment}' WHERE key = 'snapshot.interval.length';

  CREATE TABLE stop_order AS
  WITH
    counted AS (
      SELECT n, n % 10 < 2 AS paired, n - CASE WHEN n % 10 = 1 THEN 1 ELSE 0 END AS submission_number
      FROM generate_series(0::bigint, ${STOP_ORDERS - 1}) AS n
    ),
    ruled AS (
      SELECT *,
        ${START} + submission_number * ${INTERVAL} + submission_number * 7919 % 1000000 * 1000 AS created_at,
        CASE WHEN paired THEN (ARRAY[1, 2, 4 - n % 10, 5])[1 + n / 10 % 4] ELSE 1 + n * 5 / 3 % 6 END AS status,
        CASE WHEN paired THEN 1 + n % 10 ELSE 1 + n / 3 % 2 END AS trigger_direction,
        (ARRAY[1, 1, 1, 1, 2, 2, 3])[1 + n / 2 % 7] AS type
      FROM counted
    ),
    timed AS (
      SELECT *,
        CASE WHEN status = 5 OR n % 3 = 1 THEN created_at + (3600 + n % 7) * 1000000000 END AS expires_at,
        CASE type WHEN 1 THEN 1 + n / 14 % 6 ELSE 3 + n / 14 % 2 END AS time_in_force,
        type = 1 AND n % 9 = 5 AS pegged,
        n % 5 = 4 AS sized_by_position
      FROM ruled
    )
  SELECT
    ${hex(hash("stop_order", "n"))} AS id,
    CASE WHEN paired THEN ${hex(hash("stop_order", "n + 1 - 2 * (n % 10)"))} END AS oco_link_id,
    expires_at,
    CASE WHEN expires_at IS NOT NULL THEN 1 + n / 7 % 2 END AS expiry_strategy,
    trigger_direction,
    status,
    created_at,
    CASE status WHEN 1 THEN NULL WHEN 5 THEN expires_at ELSE created_at + (n % 997) * 1000000007 END AS updated_at,
    CASE WHEN status = 4 THEN ${hex(hash("stop_order", "n"))} ELSE '' END AS order_id,
    ${hex(oneOf("party", COUNT.party, "submission_number"))} AS party_id,
    ${hex(oneOf("market", COUNT.market, `submission_number / ${COUNT.party}`))} AS market_id,
    CASE WHEN status = 6 THEN 1 + n / 20 % 10 END AS rejection_reason,
    CASE WHEN sized_by_position THEN 2 ELSE 1 END AS size_override_setting,
    CASE WHEN sized_by_position THEN (round((1 + n % 100)::numeric / 100, 2))::text END AS size_override_percentage,
    CASE WHEN n % 4 < 3 THEN (${between(2_650_000, 40_000)})::text END AS trigger_price,
    CASE WHEN n % 4 = 3 THEN (round((1 + n % 250)::numeric / 1000, 3))::text END AS trailing_percent_offset,
    CASE WHEN type = 1 AND NOT pegged THEN (${between(2_640_000, 60_000)})::text ELSE '' END AS price,
    (${between(1, 500)})::text AS size,
    trigger_direction AS side,
    time_in_force,
    CASE WHEN time_in_force = 2 THEN created_at + 86400000000000 ELSE 0 END AS order_expires_at,
    type,
    coalesce(${freeText()}, '') AS reference,
    CASE WHEN pegged THEN 1 + n / 9 % 3 END AS pegged_reference,
    (n % 100)::text AS pegged_offset,
    type = 1 AND time_in_force < 3 AND n % 4 = 0 AS post_only,
    time_in_force IN (3, 4) AS reduce_only,
    CASE WHEN type = 1 AND time_in_force < 3 AND n % 6 = 0 THEN 10 + n % 90 END AS peak_size,
    1 + n % 9 AS minimum_visible_size
  FROM timed;
  ALTER TABLE stop_order ADD PRIMARY KEY (created_at, id);
  CREATE UNIQUE INDEX ON stop_order (id);
  CREATE INDEX ON stop_order (party_id);`;

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
