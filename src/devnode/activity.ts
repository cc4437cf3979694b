import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { OrderSubmissionSchema } from "../../gen/vega/commands/v1/commands_pb.js";
import type { Market } from "../../gen/vega/markets_pb.js";
import { Market_State, Market_TradingMode } from "../../gen/vega/markets_pb.js";
import { Order_TimeInForce, Order_Type, Side } from "../../gen/vega/vega_pb.js";
import type { ExecutedCommand } from "./engine/engine.js";
import type { World } from "./world/world.js";

/** The number of parties that trade, one half with orders that rest and one half with orders that take. */
const PARTIES = 40;
/** After how many trades others take their places: trading costs fees, and with random prices some lose all they have. */
const TRADES_OF_PARTIES = 20_000;
/** The most that a price moves from one trade to the next, in parts of a thousand. */
const MOVE = 2;
/** The sizes of orders, from 1. */
const SIZES = 20;

/**
 * Make the commands with which made-up parties trade in a block. They depend on the height and on how things stand, so
 * that they are the same on every start.
 *
 * @param world how things stand
 * @param trades the number of trades
 * @returns the commands: for each trade an order that rests, and one that takes it
 */
export function* activityCommands(world: World, trades: number): Generator<ExecutedCommand, void> {
  const markets = [...world.markets.values()].filter(isTrading);
  const { height, time } = world.block;
  const generation = (height * BigInt(trades)) / BigInt(TRADES_OF_PARTIES);
  const party = (number: number) => sha256(`activity:${generation}:${number}`).toString("hex");
  for (let index = 0; index < trades && markets.length > 0; index += 1) {
    const random = numbers(`activity:${height}:${index}`);
    const market = markets[random(markets.length)];
    // Nobody trades with himself: in a block, who rests does so on one side.
    const maker = random(PARTIES / 2);
    const taker = PARTIES / 2 + random(PARTIES / 2);
    const last = BigInt(world.marketData.get(market?.id ?? "")?.lastTradedPrice || "0");
    if (market === undefined || last === 0n) {
      continue;
    }
    const moved = (last * BigInt(1000 - MOVE + random(2 * MOVE + 1))) / 1000n;
    const price = String(moved > 0n ? moved : 1n);
    const size = BigInt(1 + random(SIZES));
    const [side, opposite] = (BigInt(maker) + height) % 2n === 0n ? [Side.BUY, Side.SELL] : [Side.SELL, Side.BUY];
    const shared = { marketId: market.id, price, size, type: Order_Type.LIMIT };
    // What nobody takes has expired in the next block, where its party may trade on the other side.
    const resting = { side, timeInForce: Order_TimeInForce.GTT, expiresAt: time + 1000n };
    const taking = { side: opposite, timeInForce: Order_TimeInForce.IOC };
    yield command(party(maker), { ...shared, ...resting }, `${height}:${index}:maker`);
    yield command(party(taker), { ...shared, ...taking }, `${height}:${index}:taker`);
  }
}

const isTrading = ({ state, tradingMode }: Market) =>
  state === Market_State.ACTIVE && tradingMode === Market_TradingMode.CONTINUOUS;

function command(
  partyId: string,
  order: Parameters<typeof create<typeof OrderSubmissionSchema>>[1],
  name: string,
): ExecutedCommand {
  const value = create(OrderSubmissionSchema, { ...order, reference: "made-up" });
  // Nobody signs for a made-up party. What stands for the signature is unique, so that identifiers are.
  const signature = createHash("sha512").update(`activity:${name}`).digest();
  return { partyId, command: { case: "orderSubmission", value }, signature };
}

/** Numbers from a text: scattered, and always the same. */
function numbers(text: string): (below: number) => number {
  const bytes = sha256(text);
  let at = 0;
  return (below) => {
    const number = bytes.readUInt32BE(at % 32);
    at += 4;
    return number % below;
  };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
