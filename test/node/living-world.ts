// A small history in memory, for tests of the local node's world and of what reads it.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import { type StopOrderEvent, StopOrderEventSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { MarketSchema } from "tradewire/gen/vega/markets_pb.js";
import {
  AccountSchema,
  MarketDataSchema,
  type Order,
  OrderSchema,
  PositionSchema,
  StopOrderSchema,
  type Trade,
  TradeSchema,
} from "tradewire/gen/vega/vega_pb.js";
import type { Block, BlockEvent, Event, Placed, Timeline, TimelinePlace, WorldHistory } from "./inside.js";

/** The height of the last block of the history. */
export const LAST = 10n;

/** Make an identifier. */
export function id(number: number): string {
  return number.toString(16).padStart(64, "0");
}

/** Make a block. */
export function blockAt(height: bigint): Block {
  return { height, hash: id(Number(height) + 0xb10c), time: 1_700_000_000_000_000_000n + height * 1_000_000_000n };
}

export const order = (number: number, fields: MessageInitShape<typeof OrderSchema> = {}): Order =>
  create(OrderSchema, { id: id(number), marketId: id(1), partyId: id(2), version: 1n, ...fields });

export const trade = (number: number, fields: MessageInitShape<typeof TradeSchema> = {}): Trade =>
  create(TradeSchema, { id: id(number), marketId: id(1), buyer: id(2), seller: id(3), ...fields });

export const market = (number: number, fields: MessageInitShape<typeof MarketSchema> = {}) =>
  create(MarketSchema, { id: id(number), ...fields });

export const marketData = (number: number, fields: MessageInitShape<typeof MarketDataSchema> = {}) =>
  create(MarketDataSchema, { market: id(number), ...fields });

export const account = (number: number, fields: MessageInitShape<typeof AccountSchema> = {}) =>
  create(AccountSchema, { id: id(number), owner: id(2), asset: id(5), balance: "100", ...fields });

export const position = (partyId: string, marketId: string, openVolume = 0n) =>
  create(PositionSchema, { partyId, marketId, openVolume });

export const asset = (number: number) => create(AssetSchema, { id: id(number) });

export const stopOrder = (number: number, fields: MessageInitShape<typeof StopOrderSchema> = {}): StopOrderEvent => {
  const about = { id: id(number), marketId: id(1), partyId: id(2), createdAt: blockAt(BigInt(number)).time };
  return create(StopOrderEventSchema, { stopOrder: create(StopOrderSchema, { ...about, ...fields }) });
};

/** A timeline in memory. */
export interface ArrayTimeline<T> extends Timeline<T> {
  /** How many records were read. */
  readonly reads: () => number;
}

/** Make a timeline of records. */
export function timelineOf<T extends object>(
  records: readonly (readonly [height: number, value: T])[],
): ArrayTimeline<T> {
  let reads = 0;
  const placed = records.map(([height, value], at): Placed<T> => {
    const index = records.slice(0, at).filter(([other]) => other === height).length;
    return { place: { height: BigInt(height), index }, value };
  });
  return {
    reads: () => reads,
    *read(newestFirst, beyond) {
      for (const record of newestFirst ? placed.toReversed() : placed) {
        if (beyond === undefined || (newestFirst ? isBefore(record.place, beyond) : isBefore(beyond, record.place))) {
          reads += 1;
          yield record;
        }
      }
    },
    find: (wanted) => placed.find(({ value }) => "id" in value && value.id === wanted)?.value,
  };
}

function isBefore(a: TimelinePlace, b: TimelinePlace): boolean {
  return a.height < b.height || (a.height === b.height && a.index < b.index);
}

/** Make a history of ten blocks. */
export function historyOf({
  start,
  ...timelines
}: Partial<Omit<WorldHistory, "start">> & { readonly start?: Partial<WorldHistory["finalState"]> } = {}): WorldHistory {
  return {
    lastHeight: LAST,
    blockAt,
    orders: timelineOf<Order>([]),
    trades: timelineOf<Trade>([]),
    marketDataHistory: timelineOf([]),
    balances: timelineOf([]),
    deposits: timelineOf([]),
    checkpoints: timelineOf([]),
    ...timelines,
    finalState: {
      parameters: new Map(),
      assets: [],
      markets: [],
      marketData: [],
      parties: [],
      accounts: [],
      positions: [],
      marginLevels: [],
      stakes: new Map(),
      stopOrders: [],
      orders: [],
      ...start,
    },
  };
}

/** Make what happened in a block. */
export function happeningsOf(height: bigint, events: readonly Event[]): BlockEvent[] {
  return events.map((event, index) => ({ block: blockAt(height), sequence: index + 1, txHash: id(0), event }));
}
