// A second guard, written from docs/guards.md alone: what it says about a policy, as plainly as possible. It keeps everything that was
// signed, tries each order in which amendments may be executed, and shares nothing with the guard.
import { Order_Type, type Policy, Side } from "tradewire";

/** An order of the key that the node lists. */
export interface KnownOrder {
  readonly id: string;
  readonly marketId: string;
  readonly side: Side;
  readonly price: bigint;
  readonly isPegged: boolean;
  readonly size: bigint;
  /** With the hidden part of an iceberg order. */
  readonly remaining: bigint;
}

/** What the node shows of a market. */
export interface KnownMarket {
  readonly priceDecimals: number;
  readonly sizeDecimals: number;
  /** `undefined` if the market has none. */
  readonly mark: bigint | undefined;
  readonly position: bigint;
}

/** A step of a program: what it asks the guard to sign. */
export type Step =
  | {
      readonly kind: "order";
      readonly marketId: string;
      readonly side: Side;
      readonly size: bigint;
      /** `undefined` for a market order and for a pegged one. */
      readonly price: bigint | undefined;
      readonly isPegged: boolean;
      readonly isReduceOnly: boolean;
    }
  | {
      readonly kind: "amendment";
      readonly marketId: string;
      readonly orderId: string;
      readonly size?: bigint | undefined;
      readonly sizeDelta?: bigint | undefined;
      readonly price?: bigint | undefined;
    }
  | {
      readonly kind: "stopOrders";
      readonly marketId: string;
      readonly side: Side;
      readonly size: bigint;
      readonly price: bigint | undefined;
      readonly isReduceOnly: boolean;
      /** 1, or 2 for a pair. */
      readonly count: number;
    }
  | { readonly kind: "cancellation" }
  | { readonly kind: "other"; readonly name: string };

type Order = Extract<Step, { readonly kind: "order" }>;
type Amendment = Extract<Step, { readonly kind: "amendment" }>;

/** A decimal number as a fraction. */
const fraction = (text: string): [bigint, bigint] => {
  const [whole = "", rest = ""] = text.split(".");
  return [BigInt(whole + rest), 10n ** BigInt(rest.length)];
};

/** Whether units with so many decimals are more than a decimal number. */
function isAbove(units: bigint, decimals: number, limit: string): boolean {
  const [numerator, denominator] = fraction(limit);
  return units * denominator > numerator * 10n ** BigInt(decimals);
}

const larger = (a: bigint, b: bigint) => (a > b ? a : b);

/** Each order in which some of the items may come. */
function* arrangements<T>(items: readonly T[]): Generator<readonly T[]> {
  yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of arrangements([...items.slice(0, index), ...items.slice(index + 1)])) {
      yield [item, ...rest];
    }
  }
}

/** Creates a guard by the documentation. */
export function createReference(
  policy: Policy,
  markets: ReadonlyMap<string, KnownMarket>,
  orders: readonly KnownOrder[],
) {
  const signed: (Order | Amendment)[] = [];
  let inMinute = 0;
  const reference = { mode: policy.mode, refusals };

  function refusals(steps: readonly Step[]): ReadonlySet<string> {
    const rules = new Set<string>();
    const [before, countBefore] = [signed.length, inMinute];
    for (const step of steps) {
      for (const rule of rulesAgainst(step)) {
        rules.add(rule);
      }
    }
    if (inMinute > countBefore && inMinute > policy.maxOrdersPerMinute) {
      rules.add("maxOrdersPerMinute");
    }
    if (rules.size > 0) {
      signed.length = before;
      inMinute = countBefore;
    }
    return rules;
  }

  function rulesAgainst(step: Step): Iterable<string> {
    switch (step.kind) {
      case "cancellation":
        return [];
      case "other":
        return againstOther(step.name);
      case "order":
        return againstOrder(step);
      case "amendment":
        return againstAmendment(step);
      case "stopOrders":
        return againstStopOrders(step);
    }
  }

  function* againstOther(name: string): Generator<string> {
    if (reference.mode !== "active") {
      yield "mode";
    }
    const isTransfer = name === "transfer" || name === "cancelTransfer";
    if (!(policy.commands.some((each) => each === name) || (isTransfer && policy.transfers))) {
      yield "commands";
    }
  }

  const rulesOf = (marketId: string) => policy.markets[marketId] ?? policy.markets["*"];

  function* againstOrder(order: Order): Generator<string> {
    inMinute += 1;
    signed.push(order);
    yield* againstSizeAndPrice(order, order.isReduceOnly);
    if (reference.mode === "halted") {
      yield "mode";
    }
    if (!order.isReduceOnly) {
      yield* againstPosition(order.marketId, order.side);
    }
  }

  /** The sizes and prices that an order may have after some of the amendments that were signed, in any order. */
  function* outcomes(order: KnownOrder): Generator<{ readonly size: bigint; readonly price: bigint }> {
    const pending = signed.flatMap((step) => (step.kind === "amendment" && step.orderId === order.id ? [step] : []));
    for (const arrangement of arrangements(pending)) {
      let { size, price } = order;
      for (const amendment of arrangement) {
        size = (amendment.size ?? size) + (amendment.sizeDelta ?? 0n);
        price = amendment.price ?? price;
      }
      yield { size, price };
    }
  }

  const largestSize = (order: KnownOrder) => [...outcomes(order)].map(({ size }) => size).reduce(larger);

  function* againstAmendment(amendment: Amendment): Generator<string> {
    inMinute += 1;
    const { marketId, orderId, price } = amendment;
    if (rulesOf(marketId) === undefined || !markets.has(marketId)) {
      yield "markets";
    }
    if (reference.mode === "halted") {
      yield "mode";
    }
    const order = orders.find(({ id }) => id === orderId);
    if (order === undefined || order.marketId !== marketId) {
      yield "state";
      return;
    }
    const before = largestSize(order);
    signed.push(amendment);
    const size = largestSize(order);
    if (size <= before && price === undefined) {
      return;
    }
    // Its own price replaces the one that it has now, and amendments that are not seen yet may replace that again.
    const current = price === undefined ? [order.price] : [];
    const all = signed.flatMap((step) =>
      step.kind === "amendment" && step.orderId === orderId && step.price !== undefined ? [step.price] : [],
    );
    const worst = order.isPegged ? undefined : [...current, ...all].reduce(larger);
    yield* againstSizeAndPrice({ marketId, side: order.side, size, price: worst }, false);
    if (price !== undefined) {
      yield* againstDistance(marketId, price);
    }
    yield* againstPosition(marketId, order.side);
  }

  function* againstStopOrders({
    marketId,
    side,
    size,
    price,
    isReduceOnly,
    count,
  }: Extract<Step, { kind: "stopOrders" }>) {
    inMinute += count;
    if (!isReduceOnly) {
      yield "reduceOnly";
    }
    if (reference.mode === "halted") {
      yield "mode";
    }
    yield* againstSize({ marketId, side, size, price });
  }

  function* againstSizeAndPrice(
    order: Pick<Order, "marketId" | "side" | "size" | "price">,
    isReduceOnly: boolean,
  ): Generator<string> {
    yield* againstSize(order);
    const { marketId, price } = order;
    if (price !== undefined) {
      yield* againstDistance(marketId, price);
    } else if (rulesOf(marketId)?.maxDistance !== undefined && !isReduceOnly) {
      yield "maxDistance";
    }
  }

  function* againstSize({ marketId, side, size, price }: Pick<Order, "marketId" | "side" | "size" | "price">) {
    const [rules, market] = [rulesOf(marketId), markets.get(marketId)];
    if (rules === undefined || market === undefined) {
      yield "markets";
      return;
    }
    const { mark, priceDecimals, sizeDecimals } = market;
    if (isAbove(size, sizeDecimals, rules.maxSize)) {
      yield "maxSize";
    }
    const needsMark = price === undefined || side === Side.SELL;
    if (needsMark && mark === undefined) {
      yield "state";
    }
    const counted = needsMark ? larger(price ?? 0n, mark ?? 0n) : price;
    if (isAbove(size * counted, priceDecimals + sizeDecimals, rules.maxNotional)) {
      yield "maxNotional";
    }
  }

  function* againstDistance(marketId: string, price: bigint): Generator<string> {
    const [rules, market] = [rulesOf(marketId), markets.get(marketId)];
    if (rules?.maxDistance === undefined || market === undefined) {
      return;
    }
    const { mark } = market;
    if (mark === undefined) {
      yield "state";
      return;
    }
    const [numerator, denominator] = fraction(rules.maxDistance);
    const distance = price > mark ? price - mark : mark - price;
    if (distance * denominator > numerator * mark) {
      yield "maxDistance";
    }
  }

  function* againstPosition(marketId: string, side: Side): Generator<string> {
    const [rules, market] = [rulesOf(marketId), markets.get(marketId)];
    if (rules === undefined || market === undefined) {
      return;
    }
    let open = 0n;
    for (const order of orders) {
      if (order.marketId === marketId && order.side === side) {
        open += order.remaining + largestSize(order) - order.size;
      }
    }
    for (const step of signed) {
      if (step.kind === "order" && step.marketId === marketId && step.side === side && !step.isReduceOnly) {
        open += step.size;
      }
    }
    const position = side === Side.BUY ? market.position : -market.position;
    if (isAbove(larger(position, 0n) + open, market.sizeDecimals, rules.maxPosition)) {
      yield "maxPosition";
    }
    if (reference.mode === "reducing" && open > larger(-position, 0n)) {
      yield "mode";
    }
  }

  return reference;
}

/** The type of an order with or without a price of its own. */
export const typeOf = ({ price, isPegged }: Pick<Order, "price" | "isPegged">): Order_Type =>
  price === undefined && !isPegged ? Order_Type.MARKET : Order_Type.LIMIT;
