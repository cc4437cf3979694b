import { completeColumns, GAPS, lastPositions } from "./state-views.js";
import {
  type Decimals,
  decimalColumns,
  decimalsOf,
  exactSum,
  hexSql,
  listSql,
  type TableFunction,
  type View,
  type ViewDialect,
  type ViewedTables,
} from "./view-sql.js";

/** The views of candles, by the ends of their names. */
const INTERVALS = { "1m": "1 minute", "1h": "1 hour", "1d": "1 day" };

/** The decimals of prices times sizes. */
const NOTIONAL: Decimals = {
  decimals: "m.price_decimals + m.size_decimals",
  scale: "CAST(NULL AS DOUBLE)", // It may be too large.
  unit: "m.price_unit * m.size_unit",
};

/** The kinds of fees that buyers and sellers pay. */
const FEES = {
  maker: "maker_fee",
  infrastructure: "infrastructure_fee",
  liquidity: "liquidity_fee",
  buy_back: "buy_back_fee",
  treasury: "treasury_fee",
  high_volume_maker: "high_volume_maker_fee",
};

/**
 * Returns the function of candles with any width. Trades belong to the candle in which their `synthetic_time` lies, as in the data node (v0.78,
 * `trades_candle_1_minute` in its migrations).
 */
export function candleFunction(dialect: ViewDialect, prefix: string): TableFunction {
  const [width, gaps] = dialect === "duckdb" ? ["width", GAPS.name] : ["$1", "$2"];
  return {
    name: "candles",
    parameters: [{ name: "width", type: "interval" }, GAPS],
    returns:
      "TABLE (market text, market_id text, start timestamptz, open numeric, high numeric, low numeric, close numeric, volume numeric, notional numeric, trades bigint)",
    query: candlesQuery(dialect, prefix, width, `(SELECT ${prefix}tradewire_no_gap('trades', ${gaps}))`),
  };
}

/** Returns the views of candles, of fees, of positions by party, and of the open interest. */
export function marketViews(dialect: ViewDialect, prefix: string, tables: ViewedTables): View[] {
  const candles = Object.entries(INTERVALS).map(([name, width]) => ({
    name: `candles_${name}`,
    query: `SELECT c.*, ${completeColumns(prefix, "trades").join(", ")}\nFROM (${candlesQuery(dialect, prefix, `INTERVAL '${width}'`, "true")}) AS c`,
  }));
  return [
    ...(tables.has("trades") ? [...candles, feesView(dialect, prefix)] : []),
    ...(tables.has("positions") ? positionViews(dialect, prefix) : []),
  ];
}

function candlesQuery(dialect: ViewDialect, prefix: string, width: string, where: string): string {
  const isDuckdb = dialect === "duckdb";
  const start = isDuckdb
    ? `time_bucket(${width}, synthetic_time AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'` // Otherwise, days begin in the session's time zone.
    : `date_bin(${width}, synthetic_time, TIMESTAMPTZ '2000-01-03 00:00:00+00')`;
  const first = isDuckdb ? "arg_min(price, synthetic_time)" : "(array_agg(price ORDER BY synthetic_time))[1]";
  const last = isDuckdb ? "arg_max(price, synthetic_time)" : "(array_agg(price ORDER BY synthetic_time DESC))[1]";
  const prices = ["open", "high", "low", "close"].flatMap((name) =>
    decimalColumns(dialect, name, `c.${name}`, decimalsOf("price")),
  );
  const volume = decimalColumns(dialect, "volume", "c.volume", decimalsOf("size"));
  const notional = decimalColumns(dialect, "notional", "c.notional", NOTIONAL);
  return `SELECT m.code AS market, ${hexSql(dialect, "c.market_id")} AS market_id, c.start, ${listSql([...prices, ...volume, ...notional])}, c.trades
FROM (
  SELECT market_id, ${start} AS start, ${first} AS open, max(price) AS high, min(price) AS low, ${last} AS close,
    sum(size) AS volume, ${exactSum(dialect, (column) => `${column("price")} * ${column("size")}`)} AS notional, count(*) AS trades
  FROM ${prefix}trades WHERE ${where} GROUP BY 1, 2
) AS c
LEFT JOIN ${prefix}market_versions AS m ON m.market_id = c.market_id AND c.start >= m.valid_from AND c.start < m.valid_to`;
}

function feesView(dialect: ViewDialect, prefix: string): View {
  const day = "CAST(vega_time AT TIME ZONE 'UTC' AS date)";
  const sums = Object.entries(FEES).map(
    ([name, fee]) =>
      `${exactSum(dialect, (column) => `coalesce(${column(`buyer_${fee}`)}, 0) + coalesce(${column(`seller_${fee}`)}, 0)`)} AS ${name}`,
  );
  const fees = Object.keys(FEES).flatMap((name) => decimalColumns(dialect, name, `f.${name}`, decimalsOf("asset")));
  return {
    name: "fees_by_day",
    query: `SELECT f.day, m.code AS market, a.code AS asset, ${listSql(fees)}, f.trades
FROM (SELECT market_id, ${day} AS day, ${sums.join(", ")}, count(*) AS trades FROM ${prefix}trades GROUP BY 1, 2) AS f
LEFT JOIN ${prefix}market_versions AS m ON m.market_id = f.market_id AND m.valid_to = 'infinity'
LEFT JOIN ${prefix}asset_versions AS a ON a.asset_id = m.asset_id AND a.valid_to = 'infinity'`,
  };
}

function positionViews(dialect: ViewDialect, prefix: string): View[] {
  const interest = decimalColumns(dialect, "open_interest", "p.total", decimalsOf("size"));
  const complete = completeColumns(prefix, "positions").join(", ");
  return [
    {
      name: "open_interest",
      query: `SELECT m.code AS market, ${hexSql(dialect, "p.market_id")} AS market_id, ${listSql(interest)}, ${complete}
FROM (SELECT market_id, sum(open_volume) AS total FROM ${lastPositions(dialect, prefix)} AS l WHERE open_volume > 0 GROUP BY market_id) AS p
LEFT JOIN ${prefix}market_versions AS m ON m.market_id = p.market_id AND m.valid_to = 'infinity'`,
    },
    {
      name: "party_pnl",
      query: `SELECT party_id, market, market_id, asset, open_volume, realised_pnl, unrealised_pnl, realised_pnl + unrealised_pnl AS pnl, complete_from, complete_to
FROM ${prefix}positions_now`,
    },
  ];
}
