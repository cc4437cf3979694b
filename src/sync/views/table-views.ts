import { numberForm, textColumn } from "../../data/schema/sql.js";
import type { TableName } from "../../data/schema/table-names.js";
import { ownerColumns, type TableColumn } from "../../data/schema/table-schema.js";
import { FROM_BLOCK, identifier, sinkColumns } from "../sink-columns.js";
import { decimalColumnsOf, decimalsOf, hexSql, nameSql, type ViewColumn, type ViewDialect } from "./view-sql.js";

/** The columns of a table that name the market, the asset and the account of its rows. */
interface Owners {
  readonly market?: string | undefined;
  readonly asset?: string;
  /** The account, whose asset and market are those of the row; of the ledger, the account that was debited. */
  readonly account?: string;
}

const ASSETS_AND_ACCOUNTS: { readonly [table in TableName]?: Omit<Owners, "market"> } = {
  deposits: { asset: "asset" },
  withdrawals: { asset: "asset" },
  rewards: { asset: "asset_id" },
  balances: { account: "account_id" },
  margin_levels: { account: "account_id" },
  ledger: { account: "account_from_id" },
};

function ownersOf(table: TableName): Owners {
  return { ...ASSETS_AND_ACCOUNTS[table], market: ownerColumns(table, "market")[0] };
}

/** The names of columns that some views add. */
const RESERVED = ["complete_from", "complete_to"];

/** The names of the columns that are joined to a row. */
const JOINED = ["market", "asset", "party", "account_type"] as const;

/** What a view reads: the rows of a table, or some of them. */
export interface ViewSource {
  readonly table: TableName;
  /** The relation with the rows, in SQL. */
  readonly rows: string;
  /** Columns of the table that this release does not know. */
  readonly unknown?: readonly string[] | undefined;
  /** Further columns of the view. */
  readonly further?: readonly string[];
}

/**
 * Returns the query of rows with identifiers in hex, names in place of codes, numbers with their decimals, and the names of the
 * market, the asset and the account of each row.
 */
export function readableQuery(
  dialect: ViewDialect,
  prefix: string,
  { table, rows, unknown = [], further = [FROM_BLOCK] }: ViewSource,
): string {
  const owners = ownersOf(table);
  const columns = sinkColumns(table).flatMap((column) => viewColumns(dialect, column, owners));
  const taken = new Set(columns.map(({ name }) => name));
  const joined = joinedColumns(table, owners).filter(({ name }) => !taken.has(name));
  const all = [...columns, ...joined].map(({ name, value }) => (value === `t.${name}` ? value : `${value} AS ${name}`));
  const names = new Set([...columns, ...joined].map(({ name }) => name).concat(RESERVED));
  const more = unknown.filter((name) => !names.has(name.toLowerCase())).map((name) => `t.${identifier(name)}`);
  // What is unknown comes last: PostgreSQL can only append columns to a view.
  const list = [...all, ...further, ...more].map((each) => `  ${each}`);
  return `SELECT\n${list.join(",\n")}\n${[`FROM ${rows} AS t`, ...joinsSql(prefix, owners)].join("\n")}`;
}

function viewColumns(dialect: ViewDialect, column: TableColumn, owners: Owners): ViewColumn[] {
  const { name, holds, unit, code } = column;
  const value = `t.${name}`;
  if (holds === "id") {
    return [{ name: idName(name, owners), value: hexSql(dialect, value) }];
  }
  if (code !== undefined) {
    return [{ name, value: nameSql(dialect, column) }];
  }
  if (unit !== undefined) {
    return decimalColumnsOf(dialect, column, decimalsOf(unit === "settlement asset" ? "asset" : unit));
  }
  const hasText = dialect === "duckdb" && numberForm(column) === "double and text";
  return hasText ? [name, textColumn(name)].map((each) => ({ name: each, value: `t.${each}` })) : [{ name, value }];
}

/** Identifiers of markets and assets have the same names in all views: `market` and `asset` are their codes. */
function idName(name: string, { market, asset }: Owners): string {
  return name === market && name === "market" ? "market_id" : name === asset && name === "asset" ? "asset_id" : name;
}

function joinedColumns(table: TableName, { market, asset, account }: Owners): ViewColumn[] {
  const hasMarket = market !== undefined || account !== undefined;
  const values: { readonly [name in (typeof JOINED)[number]]: string | undefined } = {
    market: hasMarket ? "m.code" : undefined,
    asset: hasMarket || asset !== undefined ? "a.code" : undefined,
    party: account === undefined ? undefined : "c.party",
    account_type: account === undefined ? undefined : "c.type",
  };
  const found = JOINED.flatMap((name) => {
    const value = values[name];
    return value === undefined ? [] : [{ name, value }];
  });
  return table === "ledger"
    ? [
        ...found.map(({ name, value }) => ({ name: name.replace(/^(party|account_type)$/u, "from_$1"), value })),
        { name: "to_party", value: "d.party" },
        { name: "to_account_type", value: "d.type" },
      ]
    : found;
}

function joinsSql(prefix: string, { market, asset, account }: Owners): string[] {
  const valid = (alias: string) => `t.vega_time >= ${alias}.valid_from AND t.vega_time < ${alias}.valid_to`;
  const accounts =
    account === undefined
      ? []
      : [
          `LEFT JOIN ${prefix}tradewire_accounts AS c ON c.account_id = t.${account}`,
          ...(account === "account_from_id"
            ? [`LEFT JOIN ${prefix}tradewire_accounts AS d ON d.account_id = t.account_to_id`]
            : []),
        ];
  const marketId = account === undefined ? market && `t.${market}` : "c.market_id";
  const markets =
    marketId === undefined
      ? []
      : [`LEFT JOIN ${prefix}market_versions AS m ON m.market_id = ${marketId} AND ${valid("m")}`];
  const assetId =
    account === undefined
      ? asset === undefined
        ? market && "m.asset_id"
        : `t.${asset}`
      : account === "account_from_id"
        ? "coalesce(c.asset_id, d.asset_id)"
        : "c.asset_id";
  const assets =
    assetId === undefined
      ? []
      : [`LEFT JOIN ${prefix}asset_versions AS a ON a.asset_id = ${assetId} AND ${valid("a")}`];
  return [...accounts, ...markets, ...assets];
}
