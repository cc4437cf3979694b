import { hash, oneOf } from "../tables/column.js";
import { COUNT } from "../tables/entities.js";
import { lastRows } from "../tables/rows.js";
import { ASSETS } from "./assets.js";

const hex = (bytes: string) => `encode(${bytes}, 'hex')`;
const assetId = (number: string) => hex(oneOf("asset", COUNT.asset, number));

/** The network's accounts come behind those of the parties: a pool for each market, the rest by asset. */
const PARTY_ACCOUNTS = 3 * COUNT.party;

/**
 * The SQL that creates and fills the tables of how things stand: what the history leads to, and what transactions
 * change from then on.
 *
 * @param blocks the number of blocks of the history
 * @returns SQL statements
 */
export const stateSchema = (blocks: number): string => `
  CREATE TABLE market AS ${lastRows("markets", COUNT.market, blocks)};
  ALTER TABLE market ADD PRIMARY KEY (vega_time, id);
  CREATE TABLE latest_market_data AS ${lastRows("market_data", COUNT.market, blocks)};
  ALTER TABLE latest_market_data ADD PRIMARY KEY (market);
  CREATE TABLE position AS ${lastRows("positions", COUNT.market * COUNT.party, blocks)};
  ALTER TABLE position ADD PRIMARY KEY (party_id, market_id);

  CREATE TABLE asset (
    id text PRIMARY KEY, name text NOT NULL, symbol text NOT NULL, decimals int NOT NULL, quantum text NOT NULL,
    contract_address text NOT NULL
  );
  INSERT INTO asset VALUES ${ASSETS.map(assetRow).join(", ")};

  CREATE TABLE party (id text PRIMARY KEY, created_at bigint NOT NULL);
  INSERT INTO party
  SELECT ${hex(oneOf("party", COUNT.party))}, (SELECT extract(epoch FROM vega_time) * 1000000 FROM blocks WHERE row_height = 1) * 1000
  FROM generate_series(0, ${COUNT.party - 1}) AS n;

  CREATE TABLE account AS
  WITH
    counted AS (
      SELECT n, n - ${PARTY_ACCOUNTS} AS pool FROM generate_series(0, ${COUNT.account - 1}) AS n
    ),
    placed AS (
      SELECT *,
        CASE WHEN pool < 0 THEN n / ${COUNT.party} WHEN pool < ${COUNT.market} THEN 3
          WHEN pool < ${COUNT.market + COUNT.asset} THEN 4 ELSE 5 END AS kind
      FROM counted
    )
  SELECT
    ${hex(hash("account", "n"))} AS id,
    CASE WHEN pool < 0 THEN ${hex(oneOf("party", COUNT.party))} ELSE 'network' END AS owner,
    'ACCOUNT_TYPE_' || (ARRAY['GENERAL', 'GENERAL', 'MARGIN', 'INSURANCE', 'GLOBAL_REWARD', 'NETWORK_TREASURY'])[1 + kind] AS kind,
    CASE kind WHEN 2 THEN ${hex(oneOf("market", COUNT.market))} WHEN 3 THEN ${hex(oneOf("market", COUNT.market, "pool"))}
      ELSE '' END AS market_id,
    CASE kind WHEN 0 THEN ${assetId("n")} WHEN 1 THEN ${assetId("n")} WHEN 2 THEN ${assetId(`n % ${COUNT.market}`)}
      WHEN 3 THEN ${assetId("pool")} WHEN 4 THEN ${assetId(`pool - ${COUNT.market}`)}
      ELSE ${assetId(`pool - ${COUNT.market + COUNT.asset}`)} END AS asset_id,
    balance
  FROM placed JOIN (${lastRows("balances", COUNT.account, blocks)}) AS last
    ON last.account_id = ${hash("account", "n")};
  ALTER TABLE account ADD PRIMARY KEY (id);

  CREATE TABLE made_block (height bigint PRIMARY KEY, hash bytea NOT NULL, vega_time timestamptz NOT NULL);
  CREATE VIEW chain_block AS
    SELECT height, hash, vega_time FROM blocks UNION ALL SELECT height, hash, vega_time FROM made_block;

  CREATE VIEW history_order AS
    SELECT *, NULL::bigint AS peak_size, NULL::bigint AS minimum_visible_size, NULL::bigint AS changed FROM orders;
  -- What transactions bring; "changed" numbers the changes, so that streams can tell what is new.
  CREATE TABLE live_order AS SELECT * FROM history_order LIMIT 0;
  ALTER TABLE live_order ADD PRIMARY KEY (row_height, row_index);
  CREATE UNIQUE INDEX ON live_order (id);
  CREATE SEQUENCE order_change;

  CREATE VIEW book_level AS
    SELECT market, row_height, side, level, volume, number_of_orders,
      CASE side WHEN 'SIDE_BUY' THEN best_bid_price - 100 * level ELSE best_offer_price + 100 * level END AS price
    FROM (
      SELECT *, CASE side WHEN 'SIDE_BUY' THEN best_bid_volume ELSE best_offer_volume END + 7 * level AS volume,
        1 + level % 3 AS number_of_orders
      FROM latest_market_data
        CROSS JOIN (VALUES ('SIDE_BUY'), ('SIDE_SELL')) AS sides (side)
        CROSS JOIN generate_series(0, 9) AS level
    ) AS levels
    WHERE market_state <> 'STATE_SETTLED';`;

function assetRow({ id, name, symbol, decimals, quantum }: (typeof ASSETS)[number], index: number): string {
  const key = id === undefined ? assetId(String(index)) : `'${id}'`;
  const contract = `'0x' || left(encode(sha256(convert_to('contract:${index}', 'UTF8')), 'hex'), 40)`;
  return `(${key}, '${name}', '${symbol}', ${decimals}, '${quantum}', ${contract})`;
}
