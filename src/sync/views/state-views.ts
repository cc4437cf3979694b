import { codeNames } from "../../../gen/names/codes.js";
import type { TableName } from "../../data/schema/table-names.js";
import { sinkColumns } from "../sink-columns.js";
import { readableQuery } from "./table-views.js";
import {
  decimalColumns,
  decimalColumnsOf,
  decimalsOf,
  type HelperFunction,
  listSql,
  macro,
  nameSql,
  type TableFunction,
  type View,
  type ViewDialect,
  type ViewedTables,
} from "./view-sql.js";

/** What a row of a table is the state of, and by which columns its last row is found. */
interface State {
  readonly table: TableName;
  readonly of: readonly string[];
  readonly order: readonly string[];
  /** The condition for the last row to be part of the state. */
  readonly where?: string;
}

const ORDERS = { table: "orders", of: ["id"], order: ["vega_time", "seq_num"] } as const;

const POSITIONS: State = { table: "positions", of: ["market_id", "party_id"], order: ["vega_time"] };

const STATES: { readonly [name: string]: State } = {
  orders: { ...ORDERS, where: `status IN (${codesOf(["STATUS_ACTIVE", "STATUS_PARKED"])})` },
  positions: POSITIONS,
  balances: { table: "balances", of: ["account_id"], order: ["vega_time"] },
  margin_levels: { table: "margin_levels", of: ["account_id"], order: ["vega_time"] },
  market_data: { table: "market_data", of: ["market"], order: ["synthetic_time"] },
};

/** The states that can be asked for at a block. */
const AT_BLOCK = ["orders", "positions", "balances"];

/** Returns the codes of statuses of orders. */
function codesOf(wanted: readonly string[]): string {
  const codes = Object.entries(codeNames["vega.Order.Status"]).filter(([, name]) => wanted.includes(name));
  return codes.map(([number]) => number).join(", ");
}

/**
 * Returns the views of what the last loaded rows say, such as `orders_now`. Each row has the blocks for which its table is complete: those
 * after the last gap.
 */
export function stateViews(dialect: ViewDialect, prefix: string, tables: ViewedTables): View[] {
  return Object.entries(STATES)
    .filter(([, { table }]) => tables.has(table))
    .map(([name, state]) => {
      const { table } = state;
      const rows = lastRows(dialect, prefix, state);
      const source = { table, rows, unknown: tables.get(table), further: completeColumns(prefix, table) };
      return { name: `${name}_now`, query: readableQuery(dialect, prefix, source) };
    });
}

/** Returns the columns that name the blocks without a gap up to the last loaded block of a table. */
export function completeColumns(prefix: string, table: TableName): string[] {
  const of = `FROM ${prefix}loaded_blocks AS b WHERE b.table_name = '${table}'`;
  return [`(SELECT max(b.from_block) ${of}) AS complete_from`, `(SELECT max(b.to_block) ${of}) AS complete_to`];
}

/** Returns the view of the blocks that are loaded without a gap, for each table. */
export function loadedBlocksView(prefix: string): View {
  return {
    name: "loaded_blocks",
    query: `SELECT table_name, min(from_block) AS from_block, max(to_block) AS to_block, sum(rows) AS rows
FROM (
  SELECT *, sum(is_first) OVER (PARTITION BY table_name ORDER BY from_block) AS run
  FROM (
    SELECT table_name, from_block, to_block, rows,
      CASE WHEN from_block = lag(to_block) OVER (PARTITION BY table_name ORDER BY from_block) + 1 THEN 0 ELSE 1 END AS is_first
    FROM ${prefix}tradewire_ledger
  ) AS units
) AS runs
GROUP BY table_name, run`,
  };
}

/**
 * Returns the functions of the state at a block, such as `orders_at(1000)`. They fail if the block is not loaded, or if blocks between the first
 * loaded one and the block are missing, unless gaps are allowed.
 */
export function stateFunctions(dialect: ViewDialect, prefix: string, tables: ViewedTables): TableFunction[] {
  if (!tables.has("blocks")) {
    return []; // Only this table has the times of blocks.
  }
  const isDuckdb = dialect === "duckdb";
  // By their numbers, parameters of PostgreSQL cannot be taken for columns.
  const [market, bookAt, bookGaps] = isDuckdb ? [MARKET.name, AT.name, GAPS.name] : ["$1", "$2", "$3"];
  const [at, gaps] = isDuckdb ? [AT.name, GAPS.name] : ["$1", "$2"];
  const functions = AT_BLOCK.flatMap((name): TableFunction[] => {
    const state = STATES[name];
    if (state === undefined || !tables.has(state.table)) {
      return [];
    }
    const { table } = state;
    const checks = { vega_time: `${prefix}tradewire_block_time('${table}', ${at}, ${gaps})` };
    const rows = lastRowsUpTo(dialect, prefix, state, checks);
    const query = readableQuery(dialect, prefix, { table, rows, unknown: tables.get(table) });
    return [{ name: `${name}_at`, parameters: [AT, GAPS], returns: `SETOF ${prefix}${state.table}_v`, query }];
  });
  const bookChecks = {
    market_id: `${prefix}tradewire_market_id(${market})`,
    vega_time: `${prefix}tradewire_block_time('orders', ${bookAt}, ${bookGaps})`,
  };
  return tables.has("orders") ? [...functions, bookFunction(dialect, prefix, bookChecks)] : functions;
}

const MARKET = { name: "of_market", type: "text" } as const;
const AT = { name: "at_block", type: "bigint" } as const;
export const GAPS = { name: "allow_gaps", type: "boolean", byDefault: "false" } as const;

/** The order book of a market, by its code or identifier. The curves of AMMs are not part of it: no table has them. */
function bookFunction(dialect: ViewDialect, prefix: string, checks: Checks): TableFunction {
  const state: State = { ...ORDERS, where: `status IN (${codesOf(["STATUS_ACTIVE"])})` };
  const rows = lastRowsUpTo(dialect, prefix, state, checks);
  return {
    name: "book_at",
    parameters: [MARKET, AT, GAPS],
    returns:
      "TABLE (market text, side text, price numeric, volume numeric, orders bigint, includes_amm_curves boolean)",
    query: bookQuery(dialect, prefix, rows),
  };
}

function bookQuery(dialect: ViewDialect, prefix: string, rows: string): string {
  const columns = sinkColumns("orders").filter(({ name }) => name === "side" || name === "price");
  const sideAndPrice = columns.map((column) =>
    column.code === undefined
      ? listSql(decimalColumnsOf(dialect, column, decimalsOf("price")))
      : `${nameSql(dialect, column)} AS ${column.name}`,
  );
  const volume = listSql(decimalColumns(dialect, "volume", "t.volume", decimalsOf("size")));
  const level = dialect === "duckdb" ? "market_id, side, price, price_text" : "market_id, side, price";
  return `SELECT m.code AS market, ${sideAndPrice.join(", ")}, ${volume}, t.orders, false AS includes_amm_curves
FROM (
  SELECT ${level}, sum(remaining + coalesce(reserved_remaining, 0)) AS volume, count(*) AS orders FROM ${rows} AS live GROUP BY ${level}
) AS t
LEFT JOIN ${prefix}market_versions AS m ON m.market_id = t.market_id AND m.valid_to = 'infinity'
ORDER BY t.side, t.price DESC`;
}

/** Returns the relation of the last rows of positions. */
export function lastPositions(dialect: ViewDialect, prefix: string): string {
  return lastRows(dialect, prefix, POSITIONS);
}

/** The calls of functions that return the last time, and the market, of the rows that a function looks at, or fail. */
type Checks = Readonly<Partial<Record<"market_id" | "vega_time", string>>>;

/** Returns the relation of the last row of each object up to a time. The checks fail even if the table has no rows. */
function lastRowsUpTo(dialect: ViewDialect, prefix: string, state: State, checks: Checks): string {
  const conditions = (against: (column: string, call: string) => string) =>
    Object.entries(checks)
      .map(([column, call]) => `${column} ${column === "vega_time" ? "<=" : "="} ${against(column, call)}`)
      .join(" AND ");
  if (dialect === "duckdb") {
    return lastRows(
      dialect,
      prefix,
      state,
      conditions((_, call) => `(SELECT ${call})`),
    );
  }
  const values = Object.entries(checks).map(([column, call]) => `${call} AS ${column}`);
  const rows = lastRows(
    dialect,
    prefix,
    state,
    conditions((column) => `checked.${column}`),
  );
  // With OFFSET, the calls are evaluated once, before rows are read.
  return `(SELECT found.* FROM (SELECT ${values.join(", ")} OFFSET 0) AS checked CROSS JOIN LATERAL ${rows} AS found)`;
}

/** Returns the relation of the last row of each object, among the rows that meet a condition. */
function lastRows(
  dialect: ViewDialect,
  prefix: string,
  { table, of, order, where = "true" }: State,
  among = "true",
): string {
  const key = of.join(", ");
  const newest = order.map((name) => `${name} DESC`).join(", ");
  const last =
    dialect === "duckdb"
      ? `SELECT * FROM ${prefix}${table} WHERE ${among} QUALIFY row_number() OVER (PARTITION BY ${key} ORDER BY ${newest}) = 1`
      : `SELECT DISTINCT ON (${key}) * FROM ${prefix}${table} WHERE ${among} ORDER BY ${key}, ${newest}`;
  return `(SELECT * FROM (${last}) AS last_rows WHERE ${where})`;
}

const MARKET_ERROR = ["no market has the code or the identifier ", ": see market_versions"] as const;
const BLOCK_ERROR = [
  "block ",
  " is not loaded into ",
  ", or blocks before it are missing: see loaded_blocks, or pass allow_gaps",
] as const;
const GAP_ERROR = ["blocks are missing in ", ": see loaded_blocks, or pass allow_gaps"] as const;

/** Returns what the functions call. */
export function helperFunctions(dialect: ViewDialect, prefix: string, tables: ViewedTables): HelperFunction[] {
  const helpers = dialect === "duckdb" ? duckdbHelpers() : postgresHelpers(prefix);
  return helpers.filter(({ name }) => name !== "tradewire_block_time" || tables.has("blocks"));
}

function duckdbHelpers(): HelperFunction[] {
  const of = "FROM loaded_blocks AS b WHERE b.table_name = wanted";
  const first = "(SELECT min(f.from_block) FROM loaded_blocks AS f WHERE f.table_name = wanted)";
  const isLoaded = `EXISTS (SELECT 1 ${of} AND at_block BETWEEN b.from_block AND b.to_block AND (allow_gaps OR b.from_block = ${first}))`;
  const time = "(SELECT max(vega_time) FROM blocks WHERE height = at_block)";
  const fail = (text: readonly string[], ...values: string[]) =>
    `error(concat(${text.flatMap((part, index) => [`'${part}'`, ...values.slice(index, index + 1)]).join(", ")}))`;
  return [
    macro(
      "tradewire_market_id",
      "wanted",
      `coalesce((SELECT DISTINCT market_id FROM market_versions WHERE lower(hex(market_id)) = lower(wanted)), (SELECT DISTINCT market_id FROM market_versions WHERE code = wanted), CAST(${fail(MARKET_ERROR, "wanted")} AS BLOB))`,
    ),
    macro(
      "tradewire_no_gap",
      "wanted, allow_gaps",
      `(SELECT CASE WHEN allow_gaps OR (SELECT count(*) ${of}) < 2 THEN true ELSE ${fail(GAP_ERROR, "wanted")} END)`,
    ),
    macro(
      "tradewire_block_time",
      "wanted, at_block, allow_gaps",
      `(SELECT CASE WHEN ${isLoaded} AND ${time} IS NOT NULL THEN ${time} ELSE CAST(${fail(BLOCK_ERROR, "at_block", "wanted")} AS TIMESTAMPTZ) END)`,
    ),
  ];
}

function postgresHelpers(prefix: string): HelperFunction[] {
  const of = `FROM ${prefix}loaded_blocks AS b WHERE b.table_name = wanted`;
  const fail = (text: readonly string[], ...values: string[]) =>
    `RAISE EXCEPTION '${text.join("%")}', ${values.join(", ")} USING ERRCODE = 'no_data_found'`;
  const create = (name: string, parameters: string, returns: string, body: string) => ({
    name,
    create: `CREATE OR REPLACE FUNCTION ${prefix}${name}(${parameters}) RETURNS ${returns} STABLE ${body}`,
  });
  return [
    create(
      "tradewire_market_id",
      "wanted text",
      "bytea",
      `LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  found_market bytea := coalesce(
    (SELECT DISTINCT v.market_id FROM ${prefix}market_versions AS v WHERE encode(v.market_id, 'hex') = lower(wanted)),
    (SELECT DISTINCT v.market_id FROM ${prefix}market_versions AS v WHERE v.code = wanted)
  );
BEGIN
  IF found_market IS NULL THEN
    ${fail(MARKET_ERROR, "wanted")};
  END IF;
  RETURN found_market;
END
$$`,
    ),
    create(
      "tradewire_no_gap",
      "wanted text, allow_gaps boolean",
      "boolean",
      `LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF NOT allow_gaps AND (SELECT count(*) ${of}) > 1 THEN
    ${fail(GAP_ERROR, "wanted")};
  END IF;
  RETURN true;
END
$$`,
    ),
    create(
      "tradewire_block_time",
      "wanted text, at_block bigint, allow_gaps boolean",
      "timestamptz",
      `LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  found_time timestamptz := (SELECT max(vega_time) FROM ${prefix}blocks WHERE height = at_block);
  first_block bigint := (SELECT min(b.from_block) ${of});
BEGIN
  IF found_time IS NULL OR NOT EXISTS (
    SELECT 1 ${of} AND at_block BETWEEN b.from_block AND b.to_block AND (allow_gaps OR b.from_block = first_block)
  ) THEN
    ${fail(BLOCK_ERROR, "at_block", "wanted")};
  END IF;
  RETURN found_time;
END
$$`,
    ),
  ];
}
