import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { OrderSubmissionSchema } from "../../gen/vega/commands/v1/commands_pb.js";
import { type Market, Market_State, Market_TradingMode } from "../../gen/vega/markets_pb.js";
import { Order_TimeInForce, Order_Type, Side } from "../../gen/vega/vega_pb.js";
import type { AppliedCommand } from "./engine/command-dispatch.js";
import type { World } from "./world/world.js";

/** The number of trading parties: one half are makers, the other half takers. */
const PARTIES = 40;
/** The number of trades after which new parties replace them: fees and random prices cost some parties all their funds. */
const TRADES_OF_PARTIES = 20_000;
/** The maximum price change from one trade to the next, in thousandths. */
const MOVE = 2;
/** The maximum size of an order. */
const MAX_SIZE = 20;

/**
 * Generates the commands with which simulated parties trade in a block. They depend on the height and on the network's
 * state, so they are the same on every start.
 */
export function* activityCommands(world: World, trades: number): Generator<AppliedCommand, void> {
  const markets = [...world.markets.values()].filter(isTrading);
  const { height, time } = world.block;
  const generation = (height * BigInt(trades)) / BigInt(TRADES_OF_PARTIES);
  const party = (number: number) => sha256(`activity:${generation}:${number}`).toString("hex");
  for (let index = 0; index < trades && markets.length > 0; index += 1) {
    const random = seededNumbers(`activity:${height}:${index}`);
    const market = markets[random(markets.length)];
    // No party trades with itself: in a block, each maker has orders on one side only.
    const maker = random(PARTIES / 2);
    const taker = PARTIES / 2 + random(PARTIES / 2);
    const last = BigInt(world.marketData.get(market?.id ?? "")?.lastTradedPrice || "0");
    if (market === undefined || last === 0n) {
      continue;
    }
    const moved = (last * BigInt(1000 - MOVE + random(2 * MOVE + 1))) / 1000n;
    const price = String(moved > 0n ? moved : 1n);
    const size = BigInt(1 + random(MAX_SIZE));
    const [side, opposite] = (BigInt(maker) + height) % 2n === 0n ? [Side.BUY, Side.SELL] : [Side.SELL, Side.BUY];
    const shared = { marketId: market.id, price, size, type: Order_Type.LIMIT };
    // An unmatched order expires before the next block, in which its party may trade on the other side.
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
): AppliedCommand {
  const value = create(OrderSubmissionSchema, { ...order, reference: "made-up" });
  // Generated parties have no keys. The placeholder signature is unique, so that identifiers are unique.
  const signature = createHash("sha512").update(`activity:${name}`).digest();
  return { partyId, command: { case: "orderSubmission", value }, signature };
}

function seededNumbers(text: string): (below: number) => number {
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
