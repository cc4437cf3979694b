import { completeColumns, GAPS, MARKET, openVolumes } from "./state-views.js";
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

/** More time than the events of a block take: each is a microsecond later than the one before it (v0.78, datanode/entities/trade.go). */
const EVENTS = "INTERVAL '1 minute'";

const CANDLE_PARAMETERS = [
  { name: "width", type: "interval" },
  { ...MARKET, byDefault: "NULL" },
  { name: "since", type: "timestamptz", byDefault: "NULL" },
  { name: "until", type: "timestamptz", byDefault: "NULL" },
  GAPS,
] as const;

/**
 * Returns the function of candles with any width, of a market or of all, that start within a time. Trades belong to the candle in which their
 * `synthetic_time` lies, as in the data node (v0.78, `trades_candle_1_minute` in its migrations).
 */
export function candleFunction(dialect: ViewDialect, prefix: string): TableFunction {
  const names = CANDLE_PARAMETERS.map(({ name }, index) => (dialect === "duckdb" ? name : `$${index + 1}`));
  const [width = "", market, since, until, gaps] = names;
  const time = (name: string | undefined) => `CAST(${name} AS timestamptz)`;
  const start = startSql(dialect, width);
  const where = [
    `(SELECT ${prefix}tradewire_no_gap('trades', ${gaps}))`,
    `(${market} IS NULL OR market_id = (SELECT ${prefix}tradewire_market_id(${market})))`,
    `(${since} IS NULL OR vega_time >= ${time(since)} - ${EVENTS} AND ${start} >= ${time(since)})`,
    `(${until} IS NULL OR vega_time < ${time(until)} + ${width} AND ${start} < ${time(until)})`,
  ];
  return {
    name: "candles",
    parameters: CANDLE_PARAMETERS,
    returns:
      "TABLE (market text, market_id text, start timestamptz, open numeric, high numeric, low numeric, close numeric, volume numeric, notional numeric, trades bigint)",
    query: candlesQuery(dialect, prefix, width, where.join(" AND ")),
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

/** Returns the expression of the start of a trade's candle. */
function startSql(dialect: ViewDialect, width: string): string {
  return dialect === "duckdb"
    ? `time_bucket(${width}, synthetic_time AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'` // Otherwise, days begin in the session's time zone.
    : `date_bin(${width}, synthetic_time, TIMESTAMPTZ '2000-01-03 00:00:00+00')`;
}

function candlesQuery(dialect: ViewDialect, prefix: string, width: string, where: string): string {
  const isDuckdb = dialect === "duckdb";
  const first = isDuckdb ? "arg_min(price, synthetic_time)" : "(array_agg(price ORDER BY synthetic_time))[1]";
  const last = isDuckdb ? "arg_max(price, synthetic_time)" : "(array_agg(price ORDER BY synthetic_time DESC))[1]";
  const prices = ["open", "high", "low", "close"].flatMap((name) =>
    decimalColumns(dialect, name, `c.${name}`, decimalsOf("price")),
  );
  const volume = decimalColumns(dialect, "volume", "c.volume", decimalsOf("size"));
  const notional = decimalColumns(dialect, "notional", "c.notional", NOTIONAL);
  return `SELECT m.code AS market, ${hexSql(dialect, "c.market_id")} AS market_id, c.start, ${listSql([...prices, ...volume, ...notional])}, c.trades
FROM (
  SELECT market_id, ${startSql(dialect, width)} AS start, ${first} AS open, max(price) AS high, min(price) AS low, ${last} AS close,
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
FROM ${openVolumes(dialect, prefix)} AS p
LEFT JOIN ${prefix}market_versions AS m ON m.market_id = p.market_id AND m.valid_to = 'infinity'`,
    },
    {
      name: "party_pnl",
      query: `SELECT party_id, market, market_id, asset, open_volume, realised_pnl, unrealised_pnl, realised_pnl + unrealised_pnl AS pnl, complete_from, complete_to
FROM ${prefix}positions_now`,
    },
  ];
}
