import { unixMs } from "../../base/runtime/index.js";
import type { ListedRow, ListedTable } from "./listed-records.js";
import { hexSql, type View, type ViewDialect, type ViewedTables } from "./view-sql.js";

/** The largest number of decimals, and the smallest, that a view applies. The network allows fewer. */
const MAX_DECIMALS = 100;

type ListedType = "id" | "time" | "text" | "integer";
type Columns = readonly [id: readonly [string, "id"], ...(readonly (readonly [string, ListedType])[])];

/** The tables that hold what nodes list of markets, assets and accounts, which no export contains. */
export const LISTED_TABLES: Readonly<Record<ListedTable, Columns>> = {
  tradewire_markets: [
    ["market_id", "id"],
    ["valid_from", "time"],
    ["code", "text"],
    ["name", "text"],
    ["price_decimals", "integer"],
    ["size_decimals", "integer"],
    ["tick_size", "text"],
    ["asset_id", "id"],
  ],
  tradewire_assets: [
    ["asset_id", "id"],
    ["valid_from", "time"],
    ["code", "text"],
    ["name", "text"],
    ["decimals", "integer"],
    ["quantum", "text"],
  ],
  tradewire_accounts: [
    ["account_id", "id"],
    ["party", "text"],
    ["asset_id", "id"],
    ["market_id", "id"],
    ["type", "text"],
  ],
};

const TYPES: { readonly [dialect in ViewDialect]: Readonly<Record<ListedType, string>> } = {
  duckdb: { id: "BLOB", time: "TIMESTAMPTZ", text: "VARCHAR", integer: "INTEGER" },
  postgres: { id: "bytea", time: "timestamptz", text: "text", integer: "int4" },
};

/** Returns the tables of what nodes list, each with the statement that creates it if it does not exist. */
export function listedTables(
  dialect: ViewDialect,
  prefix: string,
): { readonly name: string; readonly create: string }[] {
  return Object.entries(LISTED_TABLES).map(([name, columns]) => {
    const list = columns.map(([column, type]) => `${column} ${TYPES[dialect][type]}`);
    const key = columns.flatMap(([column, type], index) => (index === 0 || type === "time" ? [column] : []));
    const create = `CREATE TABLE IF NOT EXISTS ${prefix}${name} (${list.join(", ")}, PRIMARY KEY (${key.join(", ")}))`;
    return { name, create };
  });
}

/** The types of DuckDB in which JSON has the values. Identifiers are hex digits. */
const JSON_TYPES = { id: "VARCHAR", time: "VARCHAR", text: "VARCHAR", integer: "INTEGER" } as const;

/** Returns the columns of the JSON of a table of what nodes list, each with its type in DuckDB. */
export function listedJsonTypes(table: ListedTable): Readonly<Record<string, string>> {
  return Object.fromEntries(LISTED_TABLES[table].map(([name, type]) => [name, JSON_TYPES[type]]));
}

/** Returns the columns of a table of what nodes list, in its types, from a relation `r` of JSON. */
export function listedValues(dialect: ViewDialect, table: ListedTable, time = "r.valid_from"): string {
  const values = LISTED_TABLES[table].map(([name, type]) => {
    const bytes = dialect === "duckdb" ? `unhex(r.${name})` : `decode(r.${name}, 'hex')`;
    const value = type === "id" ? bytes : type === "time" ? `CAST(${time} AS timestamptz)` : `r.${name}`;
    return `${value} AS ${name}`;
  });
  return values.join(", ");
}

/**
 * Returns the query of the rows of a relation that a table of what nodes list lacks, because the last version of the same object in the
 * table is another one, or there is none.
 */
export function newVersionsSql(table: ListedTable, rows: string, known: string): string {
  const columns = LISTED_TABLES[table];
  const [[id]] = columns;
  const newest = columns.some(([, type]) => type === "time")
    ? ` AND l.valid_from = (SELECT max(v.valid_from) FROM ${known} AS v WHERE v.${id} = n.${id})`
    : "";
  // IS NOT DISTINCT FROM cannot use an index.
  const same = columns
    .filter(([, type]) => type !== "time")
    .map(([name]) => `l.${name} ${name === id ? "=" : "IS NOT DISTINCT FROM"} n.${name}`)
    .join(" AND ");
  return `SELECT ${columns.map(([name]) => `n.${name}`).join(", ")} FROM ${rows} AS n
WHERE n.${id} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${known} AS l WHERE ${same}${newest})`;
}

/**
 * Returns the statement, and the values of its parameters, that adds rows to a table of what nodes list, unless the last version of the
 * same object is equal. They are valid from now on.
 */
export function storeListedSql(
  dialect: ViewDialect,
  prefix: string,
  table: ListedTable,
  listed: readonly ListedRow[],
): { readonly sql: string; readonly values: string[] } {
  const columns = LISTED_TABLES[table];
  const fields = columns.filter(([, type]) => type !== "time");
  const hasTime = fields.length < columns.length;
  const rows =
    dialect === "duckdb"
      ? `(SELECT unnest(from_json($1, '[{${fields.map(([name, type]) => `"${name}":"${JSON_TYPES[type]}"`).join(",")}}]')) AS r)`
      : `jsonb_to_recordset(CAST($1 AS jsonb)) AS r(${fields.map(([name, type]) => `${name} ${type === "integer" ? "int4" : "text"}`).join(", ")})`;
  const typed = `(SELECT ${listedValues(dialect, table, "$2")} FROM ${rows})`;
  const sql = `INSERT INTO ${prefix}${table} (${columns.map(([name]) => name).join(", ")})
${newVersionsSql(table, typed, `${prefix}${table}`)}
ON CONFLICT DO NOTHING`;
  return { sql, values: [JSON.stringify(listed), ...(hasTime ? [new Date(unixMs()).toISOString()] : [])] };
}

/** The members of a market's JSON that name its asset: the settlement asset, or the quote asset of a spot market. */
const ASSETS = [
  ["future", "settlementAsset"],
  ["perpetual", "settlementAsset"],
  ["spot", "quoteAsset"],
];

/**
 * Returns the views of the versions of markets and assets, each valid from one block to the next change: `market_versions` from the
 * exported rows of `markets`, or from the nodes' listing for markets without one, and `asset_versions` from the listing. The first
 * version is valid for all blocks before the second one.
 */
export function versionViews(dialect: ViewDialect, prefix: string, tables: ViewedTables): View[] {
  const exported = tables.has("markets") ? [exportedMarkets(dialect, prefix)] : [];
  const isExported = tables.has("markets")
    ? ` WHERE NOT EXISTS (SELECT 1 FROM ${prefix}markets AS t WHERE t.id = l.market_id)`
    : "";
  const listed = `SELECT market_id, valid_from, code, name, price_decimals, size_decimals, tick_size, asset_id FROM ${prefix}tradewire_markets AS l${isExported}`;
  const markets = [...exported, listed].join("\nUNION ALL ");
  const assets = `SELECT asset_id, valid_from, code, name, decimals AS asset_decimals, quantum FROM ${prefix}tradewire_assets`;
  return [
    { name: "market_versions", query: versionsSql(dialect, markets, "market_id", ["price", "size"]) },
    { name: "asset_versions", query: versionsSql(dialect, assets, "asset_id", ["asset"]) },
    {
      name: "assets",
      query: `SELECT ${hexSql(dialect, "asset_id")} AS id, code, name, asset_decimals AS decimals, quantum, valid_from FROM ${prefix}asset_versions WHERE valid_to = 'infinity'`,
    },
  ];
}

function exportedMarkets(dialect: ViewDialect, prefix: string): string {
  const path = (...names: string[]) => {
    const steps = names.map((name) => `'${name}'`);
    return dialect === "duckdb"
      ? `json_extract_string(tradable_instrument, '$.instrument.${names.join(".")}')`
      : `tradable_instrument->'instrument'->${[...steps.slice(0, -1), ""].join("->")}>${steps.at(-1)}`;
  };
  const asset = `coalesce(${ASSETS.map(([product = "", member = ""]) => path(product, member)).join(", ")})`;
  const digits =
    dialect === "duckdb" ? `regexp_full_match(${asset}, '([0-9a-f]{2})*')` : `${asset} ~ '^([0-9a-f]{2})*$'`;
  const bytes = dialect === "duckdb" ? `unhex(${asset})` : `decode(${asset}, 'hex')`;
  const tick = dialect === "duckdb" ? "tick_size_text" : "tick_size::text";
  return `SELECT id AS market_id, vega_time AS valid_from, ${path("code")} AS code, ${path("name")} AS name, decimal_places AS price_decimals, position_decimal_places AS size_decimals, ${tick} AS tick_size, CASE WHEN ${digits} THEN ${bytes} END AS asset_id FROM ${prefix}markets`;
}

/** Returns the query of versions with the times between which each is valid, and with what numbers are multiplied by or divided by. */
function versionsSql(
  dialect: ViewDialect,
  found: string,
  id: string,
  kinds: readonly ("price" | "size" | "asset")[],
): string {
  const factors = kinds.map((kind) => {
    const decimals = `${kind}_decimals`;
    return dialect === "duckdb"
      ? `CASE WHEN ${decimals} BETWEEN 0 AND 22 THEN CAST(concat('1e', ${decimals}) AS DOUBLE) END AS ${kind}_scale`
      : `CASE WHEN ${decimals} IS NOT NULL THEN CAST(concat('1e', -${decimals}) AS numeric) END AS ${kind}_unit`;
  });
  const checked = kinds.map(
    (kind) =>
      `CASE WHEN ${kind}_decimals BETWEEN -${MAX_DECIMALS} AND ${MAX_DECIMALS} THEN ${kind}_decimals END AS ${kind}_decimals`,
  );
  const others = {
    market_id: "code, name, tick_size, asset_id",
    asset_id: "code, name, quantum",
  }[id];
  const over = `OVER (PARTITION BY ${id} ORDER BY valid_from)`;
  const infinity = (sign: string) => `CAST('${sign}infinity' AS timestamptz)`;
  return `SELECT ${id}, CASE WHEN row_number() ${over} = 1 THEN ${infinity("-")} ELSE valid_from END AS valid_from,
  coalesce(lead(valid_from) ${over}, ${infinity("")}) AS valid_to, ${others}, ${kinds.map((kind) => `${kind}_decimals`).join(", ")}, ${factors.join(", ")}
FROM (SELECT ${id}, valid_from, ${others}, ${checked.join(", ")} FROM (${found}) AS found) AS checked`;
}
