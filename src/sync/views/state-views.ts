import { codeNames } from "../../../gen/names/codes.js";
import type { TableName } from "../../data/schema/table-names.js";
import { sinkColumns } from "../sink-columns.js";
import { indexedSql } from "./query-indexes.js";
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
  /** The columns that identify it, as in an index. */
  readonly of: readonly string[];
  /** The columns by which rows are ordered; the first is the time of the block. */
  readonly order: readonly string[];
  /** The condition for the last row to be part of the state. */
  readonly where?: (row: string) => string;
  /** Whether there are `few` of them, each with many rows, or `many`, each with few. */
  readonly count?: "few" | "many";
}

const ORDERS = { table: "orders", of: ["id_hex"], order: ["vega_time", "seq_num"], count: "many" } as const;

const POSITIONS: State = { table: "positions", of: ["party_id_hex", "market_id"], order: ["vega_time"] };

const STATES: { readonly [name: string]: State } = {
  orders: { ...ORDERS, where: (row) => `${row}.status IN (${codesOf(["STATUS_ACTIVE", "STATUS_PARKED"])})` },
  positions: POSITIONS,
  balances: { table: "balances", of: ["account_id"], order: ["vega_time"] },
  margin_levels: { table: "margin_levels", of: ["account_id"], order: ["vega_time"] },
  market_data: { table: "market_data", of: ["market"], order: ["vega_time", "synthetic_time"], count: "few" },
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

/** The parameter that names a market by its code or identifier. */
export const MARKET = { name: "of_market", type: "text" } as const;
const AT = { name: "at_block", type: "bigint" } as const;
export const GAPS = { name: "allow_gaps", type: "boolean", byDefault: "false" } as const;

/** The order book of a market, by its code or identifier. The curves of AMMs are not part of it: no table has them. */
function bookFunction(dialect: ViewDialect, prefix: string, checks: Checks): TableFunction {
  const state: State = { ...ORDERS, where: (row) => `${row}.status IN (${codesOf(["STATUS_ACTIVE"])})` };
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

/** The calls of functions that return the last time, and the market, of the rows that a function looks at, or fail. */
type Checks = Readonly<Partial<Record<"market_id" | "vega_time", string>>>;

/** Returns the relation of the last row of each object up to a time. The checks fail even if the table has no rows. */
function lastRowsUpTo(dialect: ViewDialect, prefix: string, state: State, checks: Checks): string {
  const conditions = (row: string, limitOf: (column: string, call: string) => string) =>
    Object.entries(checks)
      .map(([column, call]) => `${row}.${column} ${column === "vega_time" ? "<=" : "="} ${limitOf(column, call)}`)
      .join(" AND ");
  if (dialect === "duckdb") {
    return lastRows(dialect, prefix, state, (row) => conditions(row, (_, call) => `(SELECT ${call})`));
  }
  const values = Object.entries(checks).map(([column, call]) => `${call} AS ${column}`);
  const rows = lastRows(dialect, prefix, state, (row) => conditions(row, (column) => `checked.${column}`));
  // With OFFSET, the calls are evaluated once, before rows are read.
  return `(SELECT found.* FROM (SELECT ${values.join(", ")} OFFSET 0) AS checked CROSS JOIN LATERAL ${rows} AS found)`;
}

/** Returns the relation of the last row of each object, among the rows that meet a condition. */
function lastRows(dialect: ViewDialect, prefix: string, state: State, among?: (row: string) => string): string {
  const { table, of, order, where = () => "true", count } = state;
  const rows = `${prefix}${table}`;
  const list = (row: string) => order.map((name) => `${row}.${name}`).join(", ");
  const asked = (row: string) => (among === undefined ? [] : [among(row)]);
  if (dialect === "duckdb") {
    const columns = of.map((name) => name.replace(/_hex$/u, ""));
    if (count === "many") {
      // Conditions of a query are applied to the rows first, as in PostgreSQL. A window only has those of its partitions.
      const same = [...columns.map((name) => `n.${name} = o.${name}`), ...asked("n")];
      const last = `(${list("o")}) = (SELECT max((${list("n")})) FROM ${rows} AS n WHERE ${same.join(" AND ")})`;
      return `(SELECT o.* FROM ${rows} AS o WHERE ${[where("o"), ...asked("o"), last].join(" AND ")})`;
    }
    const newest = order.map((name) => `${name} DESC`).join(", ");
    const last = `SELECT * FROM ${rows} AS o WHERE ${["true", ...asked("o")].join(" AND ")} QUALIFY row_number() OVER (PARTITION BY ${columns.join(", ")} ORDER BY ${newest}) = 1`;
    return `(SELECT * FROM (${last}) AS o WHERE ${where("o")})`;
  }
  if (count === "few" && among === undefined) {
    return lastByIndex(prefix, state);
  }
  // Conditions of a query are applied to the rows first, so that an index finds the rows of a party or a market.
  const same = of.map((name) => `${indexedSql(name, "n")} = ${indexedSql(name, "o")}`);
  const later = [...same, `(${list("n")}) > (${list("o")})`, ...asked("n")];
  return `(SELECT o.* FROM ${rows} AS o WHERE ${[where("o"), ...asked("o")].join(" AND ")} AND NOT EXISTS (SELECT 1 FROM ${rows} AS n WHERE ${later.join(" AND ")}))`;
}

/**
 * Returns the relation of the last row of each object in PostgreSQL, which goes from one object to the next in an index. It reads few rows if
 * objects have many.
 */
function lastByIndex(prefix: string, { table, of, order }: State, among = "true"): string {
  const rows = `${prefix}${table}`;
  const list = (row: string) => of.map((name) => `${row}.${name}`).join(", ");
  const newest = order.map((name) => `r.${name} DESC`).join(", ");
  return `(${keysByIndex(rows, of, among)} SELECT l.* FROM k CROSS JOIN LATERAL (
  SELECT * FROM ${rows} AS r WHERE ${among} AND (${list("r")}) = (${list("k")}) ORDER BY ${newest} LIMIT 1
) AS l)`;
}

/** Returns the start of a query, with the distinct values of columns as `k`, among the rows `r` that meet a condition. */
function keysByIndex(rows: string, of: readonly string[], among: string): string {
  const list = (row: string) => of.map((name) => `${row}.${name}`).join(", ");
  const first = (where: string) =>
    `SELECT ${list("r")} FROM ${rows} AS r WHERE ${among} AND ${where} ORDER BY ${list("r")} LIMIT 1`;
  return `WITH RECURSIVE k AS (
  (${first("true")}) UNION ALL SELECT ${list("n")} FROM k CROSS JOIN LATERAL (${first(`(${list("r")}) > (${list("k")})`)}) AS n
)`;
}

/**
 * Returns the relation of the sum of all long positions of each market, `total`. In PostgreSQL it reads only the markets that a query
 * wants.
 */
export function openVolumes(dialect: ViewDialect, prefix: string): string {
  if (dialect === "duckdb") {
    return `(SELECT market_id, sum(open_volume) AS total FROM ${lastRows(dialect, prefix, POSITIONS)} AS l WHERE open_volume > 0 GROUP BY market_id)`;
  }
  const ofMarket = lastByIndex(prefix, { ...POSITIONS, of: ["party_id"] }, "r.market_id = w.market_id");
  return `(SELECT w.market_id, s.total FROM (${keysByIndex(`${prefix}positions`, ["market_id"], "true")} SELECT * FROM k) AS w
CROSS JOIN LATERAL (SELECT sum(l.open_volume) AS total FROM ${ofMarket} AS l WHERE l.open_volume > 0) AS s WHERE s.total IS NOT NULL)`;
}

const SHARED_CODE_ERROR = ["several markets have the code ", ": use an identifier, see market_versions"] as const;
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
  const isId = "EXISTS (SELECT 1 FROM market_versions WHERE lower(hex(market_id)) = lower(wanted))";
  const fail = (text: readonly string[], ...values: string[]) =>
    `error(concat(${text.flatMap((part, index) => [`'${part}'`, ...values.slice(index, index + 1)]).join(", ")}))`;
  return [
    macro(
      "tradewire_market_id",
      "wanted",
      `CASE WHEN wanted IS NULL THEN NULL
  WHEN (SELECT count(DISTINCT market_id) FROM market_versions WHERE code = wanted) > 1 AND NOT ${isId} THEN CAST(${fail(SHARED_CODE_ERROR, "wanted")} AS BLOB)
  ELSE coalesce(
    (SELECT min(market_id) FROM market_versions WHERE lower(hex(market_id)) = lower(wanted)),
    (SELECT min(market_id) FROM market_versions WHERE code = wanted),
    CAST(${fail(MARKET_ERROR, "wanted")} AS BLOB)
  ) END`,
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
  found_market bytea := (SELECT DISTINCT v.market_id FROM ${prefix}market_versions AS v WHERE encode(v.market_id, 'hex') = lower(wanted));
  markets bytea[] := ARRAY(SELECT DISTINCT v.market_id FROM ${prefix}market_versions AS v WHERE v.code = wanted);
BEGIN
  IF found_market IS NULL AND cardinality(markets) > 1 THEN
    ${fail(SHARED_CODE_ERROR, "wanted")};
  END IF;
  found_market := coalesce(found_market, markets[1]);
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
