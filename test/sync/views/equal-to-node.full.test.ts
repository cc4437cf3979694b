// Slow, and worth it: five parties trade for 120 blocks of a chain, which is synced into DuckDB and PostgreSQL.
// What the views say of a block is what the node answered at that block. The rules by which they do are those of the data node, whose
// own listings of candles, books and open interest were found to be equal to those rebuilt from its tables.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type Client,
  type CommandInit,
  createClient,
  Order_Status,
  Order_TimeInForce,
  Order_Type,
  Side,
  type Signer,
  signerFromMnemonic,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { AccountType, type Order } from "tradewire/gen/vega/vega_pb.js";
import { duckdbSink, postgresSink, syncHistory } from "tradewire/sync";
import { openMarket } from "../../support/devnode.js";
import { type PostgresServer, startPostgres } from "../../support/postgres.js";
import { withDuckdb } from "../sinks/support/units.js";

const PARTIES = 5;
const BLOCKS = 120;
const EVERY = 6;

/** Orders, positions, balances and a book: what is asked about a block, each as sorted lines. */
interface State {
  readonly height: bigint;
  readonly orders: readonly string[];
  readonly positions: readonly string[];
  readonly balances: readonly string[];
  readonly book: readonly string[];
}

let node: Devnode;
let client: Client;
let server: PostgresServer;
let folder: string;
let parties: readonly string[] = [];
const states: State[] = [];

/** A number with decimals as a database writes it, in units of its last decimal. */
const units = (text: unknown) => String(BigInt(String(text).replace(".", "")));
/** A value without the differences between the clients of databases: of times, and of numbers with decimals. */
const plain = (value: unknown) =>
  value instanceof Date || /^\d{4}-\d\d-\d\d /u.test(String(value))
    ? new Date(value instanceof Date ? value : String(value)).getTime()
    : /^-?\d+([.]\d+)?$/u.test(String(value))
      ? Number(Number(value).toPrecision(12)) // Sums of DOUBLE are exact to 1e-12.
      : value;
const lines = (rows: readonly (readonly unknown[])[]) => rows.map((row) => row.join(" ")).sort();

beforeAll(async () => {
  node = await startDevnode({ profile: "deployed", blockMs: 0, segments: 1, blocksPerSegment: 20 });
  client = createClient({ profile: "deployed", grpc: { url: node.grpcUrl } });
  server = await startPostgres();
  folder = await mkdtemp(join(tmpdir(), "tradewire-views-"));
  const indexes = Array.from({ length: PARTIES }, (_, index) => index);
  const signers = await Promise.all(indexes.map((index) => signerFromMnemonic(node.mnemonic, { index })));
  parties = signers.map(({ publicKey }) => publicKey);
  for (let block = 0; block < BLOCKS; block += 1) {
    await sendCommands(signers, block);
    await node.makeBlock();
    if (block % EVERY === EVERY - 1) {
      states.push(await nodeState());
    }
  }
  for (const sink of [duckdbSink(join(folder, "views.duckdb")), postgresSink(server.url)]) {
    await syncHistory(client, { sink });
  }
});
afterAll(async () => {
  await client.close();
  await node.close();
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Lets each party send a command: orders near the mark price and market orders, of which some trade, amendments and cancellations. */
async function sendCommands(signers: readonly Signer[], block: number): Promise<void> {
  const service = client.service(TradingDataService);
  const { marketData } = await service.getLatestMarketData({ marketId: openMarket });
  const filter = { marketIds: [openMarket], liveOnly: true };
  const { orders } = await service.listOrders({ filter, pagination: { first: 1000, newestFirst: true } });
  for (const [index, signer] of signers.entries()) {
    const own = orders?.edges.find(({ node: order }) => order?.partyId === signer.publicKey)?.node;
    const command = commandOf(block * PARTIES + index * 7, BigInt(marketData?.markPrice ?? "0"), own);
    await client.sendCommand(command, { signer });
  }
}

function commandOf(number: number, mark: bigint, own: Order | undefined): CommandInit {
  const side = number % 2 === 0 ? Side.BUY : Side.SELL;
  const shared = { marketId: openMarket, size: BigInt(1 + (number % 5)), side };
  const [away, kind] = [BigInt(number % 11), number % 9];
  if (own !== undefined && kind === 1) {
    return { case: "orderAmendment", value: { marketId: openMarket, orderId: own.id, sizeDelta: 2n } };
  }
  if (own !== undefined && kind === 2) {
    return { case: "orderCancellation", value: { marketId: openMarket, orderId: own.id } };
  }
  if (kind < 6) {
    const price = String(side === Side.BUY ? mark - away : mark + away);
    return {
      case: "orderSubmission",
      value: { ...shared, price, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC },
    };
  }
  return { case: "orderSubmission", value: { ...shared, type: Order_Type.MARKET, timeInForce: Order_TimeInForce.IOC } };
}

async function nodeState(): Promise<State> {
  const { method } = TradingDataService;
  const { height } = await client.lastBlockHeight();
  const [orders, positions, balances]: unknown[][][] = [[], [], []];
  for await (const { node: order } of client.records(method.listOrders, { filter: { liveOnly: true } })) {
    const { id, price, size, remaining, status, version } = order;
    orders?.push([id, price, size, remaining, `STATUS_${Order_Status[status]}`, version]);
  }
  for await (const { node: position } of client.records(method.listAllPositions, {})) {
    positions?.push([position.marketId, position.partyId, position.openVolume]);
  }
  for await (const { node: account } of client.records(method.listAccounts, {})) {
    const { owner, asset, type, balance } = account;
    balances?.push([owner, asset, `ACCOUNT_TYPE_${AccountType[type]}`, balance]);
  }
  const { buy, sell } = await client.service(TradingDataService).getLatestMarketDepth({ marketId: openMarket });
  const levels = { SIDE_BUY: buy, SIDE_SELL: sell };
  const book = Object.entries(levels).flatMap(([side, list]) =>
    list.map(({ price, volume, numberOfOrders }) => [side, price, volume, numberOfOrders]),
  );
  return {
    height,
    orders: lines(orders ?? []),
    positions: lines(positions ?? []),
    balances: lines(balances ?? []),
    book: lines(book),
  };
}

/** Asks a database. Numbers with decimals are exact texts. */
type Ask = (query: string) => Promise<unknown[][]>;

const DATABASES: readonly {
  readonly database: string;
  readonly text: string;
  ask(use: (ask: Ask) => Promise<void>): Promise<void>;
}[] = [
  { database: "DuckDB", text: "_text", ask: (use) => withDuckdb(join(folder, "views.duckdb"), use) },
  {
    database: "PostgreSQL",
    text: "",
    async ask(use) {
      const { Client: Connection } = await import("pg");
      const connection = new Connection(server.url);
      await connection.connect();
      try {
        await use(async (text) => (await connection.query<unknown[]>({ text, rowMode: "array" })).rows);
      } finally {
        await connection.end();
      }
    },
  },
];

it("the node was asked about blocks with orders, trades and positions", async () => {
  expect(states).toHaveLength(BLOCKS / EVERY);
  expect(states.at(-1)?.book.length).toBeGreaterThan(5);
  expect(new Set(states.map(({ positions }) => positions.join())).size).toBeGreaterThan(10);
});

describe.each(DATABASES)("the views of $database", ({ text, ask }) => {
  it("show the orders, positions and balances at each block", () =>
    ask(async (query) => {
      for (const { height, ...state } of states) {
        const orders = await query(
          `SELECT id, price${text}, size${text}, remaining${text}, status, version FROM orders_at(${height})`,
        );
        const positions = await query(`SELECT market_id, party_id, open_volume${text} FROM positions_at(${height})`);
        const balances = await query(
          `SELECT party, c.id, account_type, balance${text} FROM balances_at(${height}) AS b JOIN assets AS c ON c.code = b.asset`,
        );
        const scaled = ([id, price, size, remaining, ...rest]: readonly unknown[]) => [
          id,
          ...[price, size, remaining].map(units),
          ...rest,
        ];
        expect(lines(orders.map(scaled))).toEqual(state.orders);
        expect(lines(positions.map(([market, party, volume]) => [market, party, units(volume)]))).toEqual(
          state.positions,
        );
        expect(lines(balances.map(([party, asset, type, balance]) => [party, asset, type, units(balance)]))).toEqual(
          state.balances,
        );
      }
    }));

  it("show the order book at each block", () =>
    ask(async (query) => {
      for (const { height, book } of states) {
        const levels = await query(
          `SELECT side, price${text}, volume${text}, orders, includes_amm_curves FROM book_at('${openMarket}', ${height})`,
        );
        expect(
          lines(levels.map(([side, price, volume, orders]) => [side, units(price), units(volume), orders])),
        ).toEqual(book);
        expect(new Set(levels.map((level) => level.at(-1)))).toEqual(new Set([false]));
      }
    }));

  it("show the present state", () =>
    ask(async (query) => {
      const last = states.at(-1);
      const orders = await query("SELECT id FROM orders_now");
      expect(lines(orders)).toEqual(last?.orders.map((line) => line.slice(0, 64)));
      const positions = await query(`SELECT market_id, party_id, open_volume${text} FROM positions_now`);
      expect(lines(positions.map(([market, party, volume]) => [market, party, units(volume)]))).toEqual(
        last?.positions,
      );
      const { marketData } = await client.service(TradingDataService).getLatestMarketData({ marketId: openMarket });
      const interest = await query(`SELECT open_interest${text} FROM open_interest WHERE market_id = '${openMarket}'`);
      expect(interest.map(([volume]) => units(volume))).toEqual([String(marketData?.openInterest)]);
    }));

  it("show the entry price of a position in the asset's decimals as in the market's, which rounds it", () =>
    ask(async (query) => {
      const prices = await query(
        `SELECT average_entry_price${text}, average_entry_market_price${text} FROM positions_now WHERE open_volume > 0`,
      );
      expect(prices.length).toBeGreaterThan(20);
      for (const [inAsset, inMarket] of prices) {
        const [, fraction = ""] = String(inMarket).split(".");
        expect(Math.abs(Number(inAsset) - Number(inMarket))).toBeLessThan(0.51 * 10 ** -fraction.length);
      }
    }));

  it.each([
    ["1 minute", "candles_1m"],
    ["1 hour", "candles_1h"],
    ["1 day", "candles_1d"],
    ["5 minutes", "candles(INTERVAL '5 minutes')"],
    ["7 days", "candles(INTERVAL '7 days')"],
  ])("show candles of %s", (interval, view) =>
    ask(async (query) => {
      const { method } = TradingDataService;
      // With both bounds, the node lists no candles without trades in the gaps.
      const bounds = { fromTimestamp: 1n, toTimestamp: 4_000_000_000_000_000_000n };
      const request = { candleId: `trades_candle_${interval.replace(" ", "_")}_${openMarket}`, ...bounds };
      const wanted: unknown[][] = [];
      for await (const { node: candle } of client.records(method.listCandleData, request)) {
        const { start, open, high, low, close, volume, notional } = candle;
        wanted.push([start / 1000n, open, high, low, close, volume, notional]);
      }
      expect(wanted.length).toBeGreaterThan(0);
      const names = ["open", "high", "low", "close", "volume", "notional"].map((name) => `${name}${text}`);
      const start = text === "" ? "CAST(extract(epoch FROM start) * 1000000 AS bigint)" : "epoch_us(start)";
      const found = await query(`SELECT ${start}, ${names.join(", ")} FROM ${view} WHERE market_id = '${openMarket}'`);
      expect(lines(found.map(([at, ...numbers]) => [at, ...numbers.map(units)]))).toEqual(lines(wanted));
    }),
  );

  it("show the candles of one market and a time", () =>
    ask(async (query) => {
      const all = `SELECT start, open${text}, volume${text} FROM candles(INTERVAL '5 seconds') WHERE market_id = '${openMarket}' ORDER BY start`;
      const [, second, third, fourth] = await query(all);
      const [since, until] = [second, fourth].map((row) =>
        String(row?.[0] instanceof Date ? row[0].toISOString() : row?.[0]),
      );
      // The first and the last candle are whole.
      const found = await query(
        `SELECT start, open${text}, volume${text} FROM candles(INTERVAL '5 seconds', of_market := '${openMarket}', since := '${since}', until := '${until}') ORDER BY start`,
      );
      expect(found).toEqual([second, third]);
      await expect(query("SELECT * FROM candles(INTERVAL '1 minute', of_market := 'none')")).rejects.toThrow(
        "no market has the code or the identifier none",
      );
    }));

  it("fail for a block that is not loaded", () =>
    ask(async (query) => {
      await expect(query("SELECT * FROM orders_at(100000)")).rejects.toThrow("block 100000 is not loaded into orders");
    }));
});

it("the documented questions have the same answers in both databases, and all have some", async () => {
  const docs = await readFile("docs/queries.md", "utf8");
  const [, list = ""] = docs.split("## Twelve questions");
  const questions = [...list.matchAll(/^SELECT .*;$/gmu)].map(([text]) => text);
  expect(questions).toHaveLength(12);
  const height = states.at(-1)?.height;
  const [duckdb = [], postgres = []] = await Promise.all(
    DATABASES.map(async ({ ask }) => {
      const answers: string[][] = [];
      await ask(async (query) => {
        const [[code, buyer, live, order, from, to] = []] = await query(
          `SELECT (SELECT DISTINCT market FROM orders_v WHERE market_id = '${openMarket}'),
             (SELECT max(buyer) FROM trades_v WHERE market_id = '${openMarket}' AND buyer IN ('${parties.join("', '")}')),
             (SELECT max(party_id) FROM orders_now), (SELECT max(id) FROM orders_v), min(vega_time), max(vega_time) + INTERVAL '1 day' FROM trades_v`,
        );
        const times = [from, to].map((time) => (time instanceof Date ? time.toISOString() : String(time)));
        for (const question of questions) {
          const sql = question
            .replaceAll("BTC/USDT", String(code))
            .replaceAll(
              "69f684c78deefa27fd216ba771e4ca08085dea8e2b1dafd2c62352dda1e89073",
              String(question.includes("orders_now") ? live : buyer),
            )
            .replace(/\bid = '[0-9a-f]{64}'/u, `id = '${String(order)}'`)
            .replaceAll("4000", String(height))
            .replace(/(since := |>= )'.*?'/u, `$1'${times[0]}'`)
            .replace(/(until := |< )'.*?'/u, `$1'${times[1]}'`);
          answers.push(lines((await query(sql)).map((row) => row.map(plain))));
        }
      });
      return answers;
    }),
  );
  for (const [index, answer] of postgres.entries()) {
    expect({ question: questions[index], rows: answer.length > 0, answer }).toEqual({
      question: questions[index],
      rows: true,
      answer: duckdb[index],
    });
  }
});
