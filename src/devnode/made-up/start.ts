import type { StopOrderEvent } from "../../../gen/vega/events/v1/events_pb.js";
import type { StandingStart } from "../world/create-world.js";
import { ACCOUNTS, generalAccount, madeUpAccount } from "./accounts.js";
import { madeUpAssets } from "./assets.js";
import { restingOrders } from "./book.js";
import { blockTime, COUNT, madeUpBlock, partyId } from "./chain.js";
import { madeUpMarketData } from "./market-data.js";
import { madeUpMarket } from "./markets.js";
import { BALANCES_PER_BLOCK, madeUpMargin } from "./money.js";
import { networkParameters } from "./network-parameters.js";
import { once } from "./once.js";
import { madeUpPosition, POSITIONS } from "./positions.js";
import { madeUpPendingStopOrders, madeUpStopOrders } from "./stop-orders.js";
import { TRADES_PER_BLOCK, tradePrice } from "./trading.js";

/** How things stand at the end of the history. What is many is made when it is first asked for. */
export interface MadeUpStart extends StandingStart {
  /** The price of the last trade of each market, by market. */
  readonly lastPrices: ReadonlyMap<string, string>;
  /** Those of `stopOrders` that are pending; asking for them does not make the others. */
  readonly pendingStopOrders: readonly StopOrderEvent[];
}

/** What a made-up history leads to, beside what is always the same. */
export interface MadeUpOptions {
  /** The length of the history, at least 1. The first block is 1. */
  readonly blocks: bigint | number;
  /** The value of the network parameter `snapshot.interval.length`; 1000 by default. */
  readonly blocksPerSegment?: bigint | number | undefined;
  /** Public keys that are parties too, 64 hex digits each: they have an account of every asset that markets settle in. */
  readonly keys?: readonly string[] | undefined;
  /** What is in those accounts, in units of the asset's last decimal, and their governance tokens; 1e24 by default. */
  readonly startingBalance?: string | undefined;
}

/** What the accounts of {@link MadeUpOptions.keys} have. */
const STARTING_BALANCE = "1000000000000000000000000";

/**
 * Make how things stand at the end of the history.
 *
 * @param lastHeight the height of the last block
 * @param options the value of the network parameter `snapshot.interval.length`, and who else has accounts
 * @returns what the history led to
 */
export function madeUpStart(
  lastHeight: bigint,
  { blocksPerSegment = 1000, keys = [], startingBalance = STARTING_BALANCE }: Omit<MadeUpOptions, "blocks">,
): MadeUpStart {
  const last = madeUpBlock(lastHeight);
  const count = Number(lastHeight);
  // Where the history is too short to tell of each one, what it would have told stands in, as of its last block.
  const lastTurn = (number: number, cycle: number, rows = count) => {
    const end = Math.max(rows, cycle);
    return end - 1 - ((((end - 1 - number) % cycle) + cycle) % cycle);
  };
  const toldBy = (k: number) => (k < count ? { time: blockTime(BigInt(k + 1)) } : last);
  const numbers = (length: number) => Array.from({ length }, (_, number) => number);
  const dataTurn = (market: number) => lastTurn(market, COUNT.market);
  const marketData = numbers(COUNT.market).map((market) => {
    const k = dataTurn(market);
    return madeUpMarketData(toldBy(k), k);
  });
  const lastPrice = (market: number) => tradePrice(TRADES_PER_BLOCK * (dataTurn(market) + 1) - 1);
  const accounts = once(() => [
    ...numbers(ACCOUNTS).map((n) => madeUpAccount(n, lastTurn(n, ACCOUNTS, BALANCES_PER_BLOCK * count))),
    ...keys.flatMap((key) => numbers(COUNT.asset).map((asset) => generalAccount(key, asset, startingBalance))),
  ]);
  const positions = once(() => {
    const from = Math.max(count, POSITIONS) - POSITIONS;
    return numbers(POSITIONS).map((n) => madeUpPosition(toldBy(from + n), from + n));
  });
  const marginLevels = once(() =>
    numbers(Math.min(count, COUNT.party)).map((before) => {
      const k = count - 1 - before;
      return madeUpMargin({ time: blockTime(k + 1) }, k);
    }),
  );
  const stopOrderWorld = { lastHeight, end: last.time, lastPrice };
  const stopOrders = once(() => madeUpStopOrders(stopOrderWorld));
  const pendingStopOrders = once(() => madeUpPendingStopOrders(stopOrderWorld));
  const orders = once(() => restingOrders(last, dataTurn));
  return {
    assets: madeUpAssets(),
    markets: numbers(COUNT.market).map(madeUpMarket),
    marketData,
    parties: [...numbers(COUNT.party).map(partyId), ...keys].map((id) => ({ id, createdAt: blockTime(1n) })),
    lastPrices: new Map(marketData.map((data) => [data.market, data.lastTradedPrice])),
    stakes: new Map(keys.map((key) => [key, BigInt(startingBalance)])),
    parameters: new Map(networkParameters).set("snapshot.interval.length", String(blocksPerSegment)),
    get accounts() {
      return accounts();
    },
    get positions() {
      return positions();
    },
    get marginLevels() {
      return marginLevels();
    },
    get stopOrders() {
      return stopOrders();
    },
    get pendingStopOrders() {
      return pendingStopOrders();
    },
    get orders() {
      return orders();
    },
  };
}
