// What a strategy that has gone wild tries: commands of all kinds that trade, within a policy and beyond it, and others. Most
// commands are within the rules of single orders and on one side, so that positions and rates come to their limits, too.

/** Makes a source of random numbers that repeats itself for a seed (mulberry32). */
export function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Makes a source of attempts. */
export function createAttempts(random, state) {
  const below = (count) => Math.floor(random() * count);
  const chance = (share) => random() < share;
  const oneOf = (items) => items[below(items.length)];
  /** Whether a command is within the rules of single orders. All parts of a batch are alike, or none would be signed. */
  const isCalm = chance(0.6);
  const side = () => (chance(0.8) ? state.side : 3 - state.side);
  const market = () =>
    !isCalm && chance(0.1) ? { ...oneOf(state.markets), id: state.otherMarket } : oneOf(state.markets);
  const size = ({ maxSize }) =>
    isCalm
      ? BigInt(1 + below(maxSize / 3))
      : BigInt(oneOf([1, 1, 1, 2, 3, Math.ceil(maxSize / 2), maxSize, maxSize + 1, maxSize * 2, 10 ** 12]));
  const price = ({ mark }) => {
    if (isCalm) {
      return String(Math.round(mark * (1 + (random() - 0.5) / 100)));
    }
    const factor = 1 + oneOf([0, 0.001, 0.005, 0.01, 0.015, 0.019, 0.021, 0.024, 0.05, 0.9]) * (chance(0.5) ? 1 : -1);
    return String(
      oneOf([Math.max(1, Math.round(mark * factor)), Math.max(1, Math.round(mark * factor)), Math.round(mark)]),
    );
  };
  const knownOrder = (id) => oneOf(state.orders.get(id) ?? []) ?? "ab".repeat(32);

  function order(of = market()) {
    const base = { marketId: of.id, side: side(), size: size(of), reference: oneOf(["", "x"]) };
    if (!isCalm && chance(0.3)) {
      return { ...base, type: 2, timeInForce: oneOf([3, 4]), reduceOnly: chance(0.3) };
    }
    if (!isCalm && chance(0.25)) {
      const offset = String(1 + below(of.mark / 20));
      const reference = base.side === 1 ? oneOf([1, 2]) : oneOf([1, 3]);
      return { ...base, type: 1, timeInForce: 1, peggedOrder: { reference, offset } };
    }
    const timeInForce = oneOf([1, 1, 1, 2, 3, 4]);
    return {
      ...base,
      type: 1,
      timeInForce,
      price: price(of),
      ...(timeInForce === 2 && { expiresAt: state.chainTime + BigInt(1 + below(20)) * 1_000_000_000n }),
      ...(timeInForce < 3 && chance(0.2) && { postOnly: true }),
      ...(timeInForce > 2 && chance(0.3) && { reduceOnly: true }),
      ...(timeInForce === 1 &&
        base.size >= 3n &&
        chance(0.2) && { icebergOpts: { peakSize: 2n, minimumVisibleSize: 1n } }),
    };
  }

  function amendment(of = market()) {
    const change = oneOf([
      () => ({ sizeDelta: BigInt(below(2 * of.maxSize + 2) - of.maxSize) || 1n }),
      () => ({ size: size(of) }),
      () => ({ price: price(of) }),
      () => ({ price: price(of), sizeDelta: BigInt(1 + below(of.maxSize)) }),
      () => ({ peggedOffset: String(1 + below(of.mark / 10)) }),
      () => ({ timeInForce: 2, expiresAt: state.chainTime + 5_000_000_000n }),
    ]);
    return { orderId: knownOrder(of.id), marketId: of.id, ...change() };
  }

  const cancellation = (of = market()) =>
    chance(0.9) ? { marketId: of.id, orderId: knownOrder(of.id) } : oneOf([{ marketId: of.id }, {}]);

  function stopSetup(of) {
    const trigger = chance(0.7)
      ? { case: "price", value: price(of) }
      : { case: "trailingPercentOffset", value: oneOf(["0.001", "0.05", "0.5"]) };
    const expiry = chance(0.3) && {
      expiresAt: state.chainTime + BigInt(1 + below(10)) * 1_000_000_000n,
      expiryStrategy: oneOf([1, 2]),
    };
    const override = chance(0.3) && {
      sizeOverrideSetting: 2,
      ...(chance(0.5) && { sizeOverrideValue: { percentage: oneOf(["0.5", "1"]) } }),
    };
    const inner = chance(0.5)
      ? { marketId: of.id, side: side(), size: size(of), type: 2, timeInForce: 3, reduceOnly: isCalm || chance(0.8) }
      : { ...order(of), reduceOnly: isCalm || chance(0.8) };
    return { orderSubmission: inner, trigger, ...expiry, ...override };
  }

  function stopOrders(of = market()) {
    return oneOf([
      () => ({ risesAbove: stopSetup(of) }),
      () => ({ fallsBelow: stopSetup(of) }),
      () => ({ risesAbove: stopSetup(of), fallsBelow: stopSetup(of) }),
    ])();
  }

  const stopCancellation = (of = market()) =>
    oneOf([
      { marketId: of.id },
      {},
      { marketId: of.id, stopOrderId: oneOf(state.stopOrders.get(of.id) ?? []) ?? "cd".repeat(32) },
    ]);

  function batch() {
    const some = (make, most) => Array.from({ length: below(most + 1) }, () => make());
    const of = market();
    const parts = {
      cancellations: some(() => cancellation(of), 1),
      amendments: some(() => amendment(of), 2),
      submissions: some(() => order(isCalm || chance(0.8) ? of : market()), 4),
      stopOrdersCancellation: some(() => stopCancellation(of), 1),
      stopOrdersSubmission: some(() => stopOrders(of), 1),
    };
    return Object.values(parts).some((each) => each.length > 0) ? parts : { ...parts, submissions: [order(of)] };
  }

  const ASSET = state.assetId;
  const other = () =>
    oneOf([
      {
        case: "transfer",
        value: {
          fromAccountType: 4,
          toAccountType: 4,
          to: "ef".repeat(32),
          asset: ASSET,
          amount: "1",
          kind: { case: "oneOff", value: {} },
        },
      },
      {
        case: "withdrawSubmission",
        value: {
          amount: "1",
          asset: ASSET,
          ext: { ext: { case: "erc20", value: { receiverAddress: `0x${"ab".repeat(20)}` } } },
        },
      },
      { case: "voteSubmission", value: { proposalId: "ab".repeat(32), value: 2 } },
      { case: "delegateSubmission", value: { nodeId: "ab".repeat(32), amount: "1" } },
      { case: "updateMarginMode", value: { marketId: state.markets[0].id, mode: 1 } },
      { case: "cancelAmm", value: { marketId: state.markets[0].id, method: 1 } },
      { case: "liquidityProvisionCancellation", value: { marketId: state.markets[0].id } },
      { case: "updatePartyProfile", value: { alias: "x" } },
    ]);

  return function next() {
    const at = random();
    if (at < 0.42) return { case: "orderSubmission", value: order() };
    if (at < 0.6) return { case: "orderAmendment", value: amendment() };
    if (at < 0.68) return { case: "orderCancellation", value: cancellation() };
    if (at < 0.8) return { case: "batchMarketInstructions", value: batch() };
    if (at < 0.9) return { case: "stopOrdersSubmission", value: stopOrders() };
    if (at < 0.93) return { case: "stopOrdersCancellation", value: stopCancellation() };
    return other();
  };
}
