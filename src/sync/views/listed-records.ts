import { createHash } from "node:crypto";
import type { Market } from "../../../gen/vega/markets_pb.js";
import type { Paging } from "../../data/listing/paging.js";
import type { TableName } from "../../data/schema/table-names.js";

/** A row of a table of what nodes list, by its columns. Identifiers are hex digits. */
export type ListedRow = Readonly<Record<string, string | number | null>>;

/** The tables of what nodes list. */
export type ListedTable = "tradewire_markets" | "tradewire_assets" | "tradewire_accounts";

/** What a node lists, by the tables that hold it, in batches. */
export type ListedRecords = Readonly<Record<ListedTable, AsyncIterable<readonly ListedRow[]>>>;

/** The maximum number of records that are read of each kind: more than any network has. */
const MAX_RECORDS = 10_000_000;
/** The maximum length of a text. */
const MAX_TEXT = 1000;
/** The number of records that are stored at a time. */
const BATCH = 5000;

/** The tables whose rows name their accounts, but neither a party nor an asset. */
const WITH_ACCOUNTS: readonly TableName[] = ["balances", "margin_levels", "ledger"];

/**
 * Reads the markets, assets and accounts that a node lists: what exported rows refer to and no table has.
 *
 * @param records lists the records of a method
 * @param tables the tables of the sink
 * @returns the rows; nothing is sent before they are requested
 */
export async function listedRecords(
  records: Paging["records"],
  tables: readonly TableName[],
  signal: AbortSignal,
): Promise<ListedRecords> {
  const [{ TradingDataService }, { AccountType }] = await Promise.all([
    import("../../../gen/datanode/api/v2/trading_data_pb.js"),
    import("../../../gen/vega/vega_pb.js"),
  ]);
  const { listMarkets, listAssets, listAccounts } = TradingDataService.method;
  const options = { signal, limit: MAX_RECORDS };
  const hasAccounts = tables.some((table) => WITH_ACCOUNTS.includes(table));
  return {
    tradewire_markets: batches(records(listMarkets, { includeSettled: true }, options), marketRow),
    tradewire_assets: batches(records(listAssets, {}, options), ({ id, details }) => ({
      asset_id: id,
      code: details?.symbol ?? null,
      name: details?.name ?? null,
      decimals: details === undefined ? null : Number(details.decimals),
      quantum: details?.quantum ?? null,
    })),
    tradewire_accounts: hasAccounts
      ? batches(records(listAccounts, {}, options), ({ owner, asset, marketId, type }) => {
          const name = AccountType[type] ?? String(type);
          return {
            // v0.78, `deterministicIDFromAccount` in datanode/sqlstore/accounts.go.
            account_id: createHash("sha256").update(`${asset}${owner}${marketId}ACCOUNT_TYPE_${name}`).digest("hex"),
            party: owner,
            asset_id: asset,
            market_id: marketId === "" ? null : marketId,
            type: `ACCOUNT_TYPE_${name}`,
          };
        })
      : nothing(),
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
async function* batches<T>(
  records: AsyncIterable<{ readonly node: T }>,
  rowOf: (record: T) => ListedRow,
): AsyncGenerator<ListedRow[]> {
  let batch: ListedRow[] = [];
  for await (const { node } of records) {
    const row = Object.entries(rowOf(node)).map(([name, value]) => [name, readable(value)] as const);
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
