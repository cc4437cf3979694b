import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { RequestError } from "../errors/index.js";
import { ledgerFileName } from "../ledger/names.js";
import { type CheckedLedgerRequest, readLedgerRequest } from "../ledger/request.js";
import type { Database } from "./database.js";
import { invalid } from "./invalid.js";
import { hash, oneOf, pick } from "./tables/column.js";

type LedgerService = Pick<ServiceImpl<typeof TradingDataService>, "exportLedgerEntries">;

/** The size of each part of the file, in bytes. The last part may be smaller. */
const PART_SIZE = 1024 * 1024;

const hex = (bytes: string) => `encode(${bytes}, 'hex')`;

/** SQL for the accounts that entries name: three of each party, the others the network's. */
const ACCOUNTS = `
  SELECT
    ${hash("account", "n")} AS id,
    CASE WHEN n < 3 * 97 THEN ${hex(oneOf("party", 97))} ELSE 'network' END AS owner,
    ${hex(oneOf("asset", 5))} AS asset_id,
    CASE WHEN n / 97 = 2 THEN ${hex(oneOf("market", 12))} ELSE '' END AS market_id,
    ${pick(["GENERAL", "GENERAL", "MARGIN", "INSURANCE"], "n / 97")} AS kind
  FROM generate_series(0, 310) AS n`;

/**
 * Implement the export of a party's ledger on a database.
 *
 * @param database the database that holds the history
 * @returns the method of the data service that exports the ledger
 */
export function ledgerService({ pg }: Database): LedgerService {
  return {
    async *exportLedgerEntries(message, { responseHeader }) {
      const request = checked(message);
      responseHeader.set("content-disposition", `attachment;filename=${ledgerFileName(request)}`);
      const { blob } = await pg.query(`COPY (${entries(request)}) TO '/dev/blob' (FORMAT csv, HEADER)`);
      for (let at = 0; blob !== undefined && at < blob.size; at += PART_SIZE) {
        const data = new Uint8Array(await blob.slice(at, at + PART_SIZE).arrayBuffer());
        yield { contentType: "text/csv", data };
      }
    },
  };
}

function checked(message: Parameters<LedgerService["exportLedgerEntries"]>[0]): CheckedLedgerRequest {
  try {
    return readLedgerRequest(message);
  } catch (reason) {
    throw reason instanceof RequestError ? invalid("filter", reason.summary) : reason;
  }
}

/** The query. COPY takes no parameters; identifiers are hex digits, and times whole numbers. */
function entries({ partyId, assetId, dateRange = {} }: CheckedLedgerRequest): string {
  const party = `'${partyId.toLowerCase()}'`;
  const { startTimestamp, endTimestamp } = dateRange;
  // As on deployed nodes, only whole seconds of a time count.
  const time = (nanoseconds: bigint) => `to_timestamp(${nanoseconds / 1_000_000_000n})`;
  const conditions = [
    `${party} IN (f.owner, t.owner)`,
    ...(assetId === undefined ? [] : [`f.asset_id = '${assetId.toLowerCase()}'`]),
    ...(startTimestamp === undefined ? [] : [`l.ledger_entry_time >= ${time(startTimestamp)}`]),
    ...(endTimestamp === undefined ? [] : [`l.ledger_entry_time < ${time(endTimestamp)}`]),
  ];
  return `
    WITH account AS MATERIALIZED (${ACCOUNTS})
    SELECT
      l.vega_time,
      l.quantity,
      CASE WHEN f.owner = t.owner THEN 0 WHEN t.owner = ${party} THEN l.quantity ELSE -l.quantity END AS effect,
      l.type AS transfer_type,
      f.asset_id,
      f.market_id AS account_from_market_id,
      f.owner AS account_from_party_id,
      f.kind AS account_from_account_type,
      l.account_from_balance,
      t.market_id AS account_to_market_id,
      t.owner AS account_to_party_id,
      t.kind AS account_to_account_type,
      l.account_to_balance
    FROM ledger AS l
      JOIN account AS f ON f.id = l.account_from_id
      JOIN account AS t ON t.id = l.account_to_id
    WHERE ${conditions.join(" AND ")}
    ORDER BY l.ledger_entry_time`;
}
