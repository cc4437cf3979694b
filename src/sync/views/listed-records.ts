import { createHash } from "node:crypto";
import type { AccountType } from "../../../gen/client/vega/vega_pb.js";
import type { AccountBalance } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Asset } from "../../../gen/vega/assets_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import type { ReferencedRecords } from "../../data/history/referenced-records.js";
import type { TableName } from "../../data/schema/table-names.js";

/** A row of a table of what nodes list, by its columns. Identifiers are hex digits. */
export type ListedRow = Readonly<Record<string, string | number | null>>;

/** The names of the tables of what nodes list, in the order in which they are stored. */
export const listedTables = ["tradewire_markets", "tradewire_assets", "tradewire_accounts"] as const;

/** The tables of what nodes list. */
export type ListedTable = (typeof listedTables)[number];

/** What a node lists, by the tables that hold it, in batches. */
export type ListedRecords = Readonly<Record<ListedTable, AsyncIterable<readonly ListedRow[]>>>;

/** The maximum length of a text. */
const MAX_TEXT = 1000;
/** The number of records that are stored at a time. */
const BATCH = 5000;

/** The tables whose rows name their accounts, but neither a party nor an asset. */
const WITH_ACCOUNTS: readonly TableName[] = ["balances", "margin_levels", "ledger"];

/**
 * Makes rows of the markets, assets and accounts that a node lists: what exported rows refer to and no table has.
 *
 * @param records what the node lists
 * @param tables the tables of the sink
 * @returns the rows; nothing is sent before they are requested
 */
export async function listedRecords(
  { markets, assets, accounts }: ReferencedRecords,
  tables: readonly TableName[],
): Promise<ListedRecords> {
  const { AccountType: accountTypes } = await import("../../../gen/client/vega/vega_pb.js");
  const hasAccounts = tables.some((table) => WITH_ACCOUNTS.includes(table));
  return {
    tradewire_markets: batches(markets, marketRow),
    tradewire_assets: batches(assets, assetRow),
    tradewire_accounts: hasAccounts
      ? batches(accounts, (account) => accountRow(account, (type) => accountTypes[type] ?? String(type)))
      : nothing(),
  };
}

function assetRow({ id, details }: Asset): ListedRow {
  return {
    asset_id: id,
    code: details?.symbol ?? null,
    name: details?.name ?? null,
    decimals: details === undefined ? null : Number(details.decimals),
    quantum: details?.quantum ?? null,
  };
}

function accountRow(
  { owner, asset, marketId, type }: AccountBalance,
  nameOf: (type: AccountType) => string,
): ListedRow {
  const typeName = `ACCOUNT_TYPE_${nameOf(type)}`;
  return {
    // v0.78, `deterministicIDFromAccount` in datanode/sqlstore/accounts.go.
    account_id: createHash("sha256").update(`${asset}${owner}${marketId}${typeName}`).digest("hex"),
    party: owner,
    asset_id: asset,
    market_id: marketId === "" ? null : marketId,
    type: typeName,
  };
}

function marketRow({ id, tradableInstrument, decimalPlaces, positionDecimalPlaces, tickSize }: Market): ListedRow {
  const instrument = tradableInstrument?.instrument;
  const product = instrument?.product;
  return {
    market_id: id,
    code: instrument?.code ?? null,
    name: instrument?.name ?? null,
    price_decimals: Number(decimalPlaces),
    size_decimals: Number(positionDecimalPlaces),
    tick_size: tickSize,
    asset_id:
      product?.case === "spot" ? product.value.quoteAsset : product?.case ? product.value.settlementAsset : null,
  };
}

/** Makes rows of records, and drops those that a sink cannot store: with identifiers that are none, or numbers that are no integers. */
async function* batches<T>(records: AsyncIterable<T>, rowOf: (record: T) => ListedRow): AsyncGenerator<ListedRow[]> {
  let batch: ListedRow[] = [];
  for await (const record of records) {
    const row = Object.entries(rowOf(record)).map(([name, value]) => [name, readable(value)] as const);
    if (row.every(([name, value]) => isStorable(name, value))) {
      batch.push(Object.fromEntries(row));
    }
    if (batch.length === BATCH) {
      yield batch;
      batch = [];
    }
  }
  yield batch;
}

/** Returns a text without what PostgreSQL cannot store: NUL, and halves of characters. */
function readable(value: string | number | null): string | number | null {
  return typeof value === "string" ? value.slice(0, MAX_TEXT).replaceAll("\0", "").toWellFormed() : value;
}

function isStorable(name: string, value: string | number | null): boolean {
  if (name.endsWith("_id")) {
    return value === null || /^(?:[0-9a-f]{2}){1,64}$/u.test(String(value));
  }
  return typeof value !== "number" || (Number.isInteger(value) && Math.abs(value) < 2 ** 31);
}

async function* nothing(): AsyncGenerator<never> {
  // None is needed.
}
