import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { OrderSubmissionSchema } from "../../gen/vega/commands/v1/commands_pb.js";
import type { Market } from "../../gen/vega/markets_pb.js";
import { Market_State, Market_TradingMode } from "../../gen/vega/markets_pb.js";
import { AccountType, Order_TimeInForce, Order_Type, Side } from "../../gen/vega/vega_pb.js";
import type { ExecutedCommand } from "./engine/engine.js";
import { accountId } from "./made-up/accounts.js";
import type { World } from "./world/world.js";

/** How long an order of a made-up party rests that nobody takes, in nanoseconds. */
const REST_NANOSECONDS = 60_000_000_000n;
/** The most that a price moves from one trade to the next, in parts of a thousand. */
const MOVE = 2;
/** The sizes of orders, from 1. */
const SIZES = 20;

/**
 * Make the commands with which made-up parties trade in a block. They depend on the height and on how things stand, so
 * that they are the same on every start.
 *
 * @param world how things stand
 * @param parties the parties, 64 hex digits each
 * @param trades the number of trades
 * @returns the commands: for each trade an order that rests, and one that takes it
 */
export function* activityCommands(
  world: World,
  parties: readonly string[],
  trades: number,
): Generator<ExecutedCommand, void> {
  const markets = [...world.markets.values()].filter(isTrading);
  for (let index = 0; index < trades && markets.length > 0; index += 1) {
    const random = numbers(`activity:${world.block.height}:${index}`);
    const market = markets[random(markets.length)];
    const [maker, taker] = pair(parties, random, (party) => canPay(world, party, settlementAsset(market)));
    const last = BigInt(world.marketData.get(market?.id ?? "")?.lastTradedPrice || "0");
    if (market === undefined || maker === undefined || taker === undefined || last === 0n) {
      continue;
    }
    const moved = (last * BigInt(1000 - MOVE + random(2 * MOVE + 1))) / 1000n;
    const price = String(moved > 0n ? moved : 1n);
    const size = BigInt(1 + random(SIZES));
    const [side, opposite] = random(2) === 0 ? [Side.BUY, Side.SELL] : [Side.SELL, Side.BUY];
    const shared = { marketId: market.id, price, size, type: Order_Type.LIMIT };
    const resting = { side, timeInForce: Order_TimeInForce.GTT, expiresAt: world.block.time + REST_NANOSECONDS };
    const taking = { side: opposite, timeInForce: Order_TimeInForce.IOC };
    yield command(maker, { ...shared, ...resting }, `${world.block.height}:${index}:maker`);
    yield command(taker, { ...shared, ...taking }, `${world.block.height}:${index}:taker`);
  }
}

const isTrading = ({ state, tradingMode }: Market) =>
  state === Market_State.ACTIVE && tradingMode === Market_TradingMode.CONTINUOUS;

/** Two different parties, of those that can: each one drawn, or the next after it. */
function pair(parties: readonly string[], random: (below: number) => number, can: (party: string) => boolean) {
  const nextFrom = (start: number, other?: string) =>
    [...parties.slice(start), ...parties.slice(0, start)].find((party) => party !== other && can(party));
  const first = nextFrom(random(parties.length));
  return [first, nextFrom(random(parties.length), first)] as const;
}

/** Whether a party has something to pay fees with. One that has no account yet is given a balance when it trades. */
function canPay({ accounts }: World, owner: string, asset: string): boolean {
  return accounts.get(accountId({ owner, asset, marketId: "", type: AccountType.GENERAL }))?.balance !== "0";
}

function settlementAsset(market: Market | undefined): string {
  const { product } = market?.tradableInstrument?.instrument ?? {};
  return product?.case === "future" ? product.value.settlementAsset : "";
}

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
  const bytes = createHash("sha256").update(text).digest();
  let at = 0;
  return (below) => {
    const number = bytes.readUInt32BE(at % 32);
    at += 4;
    return number % below;
  };
}
