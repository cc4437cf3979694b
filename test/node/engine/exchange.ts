import { createHash } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { sha3_256 } from "@noble/hashes/sha3.js";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import {
  BatchMarketInstructionsSchema,
  OrderAmendmentSchema,
  OrderCancellationSchema,
  OrderSubmissionSchema,
  StopOrdersCancellationSchema,
  StopOrdersSubmissionSchema,
} from "tradewire/gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { type Market, Market_State, Market_TradingMode, MarketSchema } from "tradewire/gen/vega/markets_pb.js";
import { type Order, Order_TimeInForce, Order_Type, Side, type StopOrder } from "tradewire/gen/vega/vega_pb.js";
import { type CommandResult, createEngine, type Engine, type EngineOptions, type Event, isOrder } from "./inside.js";

export const [ann, bob, cat, dan] = ["a1", "b2", "c3", "d4"].map((byte) => byte.repeat(32)) as [
  string,
  string,
  string,
  string,
];
export const marketId = "ee".repeat(32);
export const asset = "af".repeat(32);
export const { BUY, SELL } = Side;
export const { GTC, GTT, IOC, FOK, GFA, GFN } = Order_TimeInForce;
export const { LIMIT, MARKET } = Order_Type;

/** The time of the first block, in Unix nanoseconds. Each further one comes a second later. */
export const START = 1_700_000_000_000_000_000n;
export const SECOND = 1_000_000_000n;

/** A market without fees, whose prices and sizes are those of its asset. */
export function marketOf(init: Exclude<MessageInitShape<typeof MarketSchema>, Market> = {}): Market {
  return create(MarketSchema, {
    id: marketId,
    state: Market_State.ACTIVE,
    tradingMode: Market_TradingMode.CONTINUOUS,
    tickSize: "1",
    tradableInstrument: { instrument: { product: { case: "future", value: { settlementAsset: asset } } } },
    ...init,
  });
}

/** The identifiers that a transaction brings, worked out with another SHA3 than the engine's. */
export function idsOf(signature: Uint8Array, count: number): string[] {
  const ids: string[] = [];
  let bytes: Uint8Array = signature;
  for (let index = 0; index < count; index += 1) {
    bytes = sha3_256(bytes);
    ids.push(Buffer.from(bytes).toString("hex"));
  }
  return ids;
}

export interface Sent {
  readonly outcome: CommandResult;
  readonly events: readonly Event[];
  /** The first identifiers that the command may bring. */
  readonly ids: readonly string[];
}

export type OrderFields = MessageInitShape<typeof OrderSubmissionSchema>;

/** An order that rests: GTC, limit. */
export function limit(side: Side, size: number | bigint, price: number | bigint, more: OrderFields = {}): OrderFields {
  return { marketId, side, size: BigInt(size), price: String(price), type: LIMIT, timeInForce: GTC, ...more };
}

/** An exchange whose first block has begun. */
export function openExchange(market: Market = marketOf(), more: Partial<EngineOptions> = {}) {
  const events: Event[] = [];
  const engine: Engine = createEngine(
    {
      markets: [market],
      assets: [create(AssetSchema, { id: asset, details: { decimals: 0n } })],
      lastPrices: new Map(),
      accounts: [],
      positions: [],
      orders: [],
      stopOrders: [],
      startingBalance: "1000000",
      maxStopOrders: 4,
      ...more,
    },
    (event) => events.push(event),
  );
  let height = 0n;
  let count = 0;

  const during = (run: () => void): Event[] => {
    const from = events.length;
    run();
    return events.slice(from);
  };
  const begin = () => {
    height += 1n;
    engine.beginBlock({ height, hash: "bb".repeat(32), time: START + (height - 1n) * SECOND });
  };
  begin();

  function send(partyId: string, command: InputData["command"]): Sent {
    count += 1;
    const signature = Uint8Array.from(createHash("sha512").update(String(count)).digest());
    let outcome: CommandResult = { status: "success" };
    const told = during(() => {
      outcome = engine.execute({ command, partyId, signature });
    });
    return { outcome, events: told, ids: idsOf(signature, 8) };
  }

  return {
    engine,
    events,
    send,
    order: (party: string, value: OrderFields) =>
      send(party, { case: "orderSubmission", value: create(OrderSubmissionSchema, value) }),
    amend: (party: string, value: MessageInitShape<typeof OrderAmendmentSchema>) =>
      send(party, { case: "orderAmendment", value: create(OrderAmendmentSchema, { marketId, ...value }) }),
    cancel: (party: string, value: MessageInitShape<typeof OrderCancellationSchema> = {}) =>
      send(party, { case: "orderCancellation", value: create(OrderCancellationSchema, value) }),
    stop: (party: string, value: MessageInitShape<typeof StopOrdersSubmissionSchema>) =>
      send(party, { case: "stopOrdersSubmission", value: create(StopOrdersSubmissionSchema, value) }),
    cancelStops: (party: string, value: MessageInitShape<typeof StopOrdersCancellationSchema> = {}) =>
      send(party, { case: "stopOrdersCancellation", value: create(StopOrdersCancellationSchema, value) }),
    batch: (party: string, value: MessageInitShape<typeof BatchMarketInstructionsSchema>) =>
      send(party, { case: "batchMarketInstructions", value: create(BatchMarketInstructionsSchema, value) }),
    endBlock: () => during(() => engine.endBlock()),
    height: () => height,
    /** Count heights from the first block on again, for an engine that was restored there. */
    rewind: () => {
      height = 1n;
    },
    /** End the block, and begin the next one, some seconds later. */
    nextBlock: (seconds = 1n) => {
      height += seconds - 1n;
      return {
        end: during(() => engine.endBlock()),
        begin: during(begin),
      };
    },
  };
}

export type Exchange = ReturnType<typeof openExchange>;

/** The values of the events of a kind. */
export function valuesOf<C extends Event["case"]>(events: readonly Event[], kind: C) {
  return events.flatMap((event) => (event.case === kind ? [event.value as Extract<Event, { case: C }>["value"]] : []));
}

/** The versions of orders, those that the bus names by their identifiers alone included. */
export function ordersOf(events: readonly Event[]): Order[] {
  return events.flatMap((event) => (isOrder(event) ? [event.value] : []));
}

/** The latest version of an order. */
export function orderOf(exchange: Exchange, id: string | undefined): Order | undefined {
  return ordersOf(exchange.events).findLast((order) => order.id === id);
}

/** The order that a stop order has submitted. */
export function submittedBy(exchange: Exchange, stopOrderId: string | undefined): Order | undefined {
  return orderOf(exchange, stopOf(exchange, stopOrderId)?.orderId);
}

/** How a stop order stands. */
export function stopOf(exchange: Exchange, id: string | undefined): StopOrder | undefined {
  return valuesOf(exchange.events, "stopOrder").findLast(({ stopOrder }) => stopOrder?.id === id)?.stopOrder;
}

/** The book as text: `price: volume (orders)`, the best first, buyers and sellers. */
export function bookOf({ engine }: Exchange, id = marketId): { buy: string[]; sell: string[] } {
  const { buy, sell } = engine.depth(id);
  const text = (levels: typeof buy) =>
    levels.map(({ price, volume, numberOfOrders }) => `${price}: ${volume} (${numberOfOrders})`);
  return { buy: text(buy), sell: text(sell) };
}

/** Trades as text: `size@price buyer<seller`, with the first letters of the parties. */
export function tradesOf(events: readonly Event[]): string[] {
  return valuesOf(events, "trade").map(({ size, price, buyer, seller }) => `${size}@${price} ${buyer[0]}<${seller[0]}`);
}

/** A failure with one error, of a command without parts. */
export function failure(error: string): CommandResult {
  return { status: "failure", errors: [{ key: "", error }] };
}

export const success: CommandResult = { status: "success" };
