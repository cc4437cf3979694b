import { expect, it } from "@jest/globals";
import {
  type CommandInit,
  Order_TimeInForce,
  Order_Type,
  PolicyError,
  Side,
  signerFromMnemonic,
  TransactionError,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { openMarket } from "../../support/devnode.js";
import { clientOf, startNode } from "../../support/leases.js";

/** Random numbers that are the same in each run (a linear congruential generator). */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

it("nothing that a wild program sends at once is beyond the policy, as the node's records show", async () => {
  await using node = await startNode();
  await using client = clientOf(node.grpcUrl);
  await using observer = clientOf(node.grpcUrl);
  using signer = await signerFromMnemonic(node.mnemonic, { index: 3 });
  const { size } = await client.marketUnits(openMarket);
  const one = size.parse("1");
  const rules = { maxSize: "4", maxNotional: "99999999999", maxPosition: "9" };
  const policy = { maxOrdersPerMinute: 100_000, markets: { [openMarket]: rules } };
  await using guard = await client.guard({ signer, policy });
  const random = createRandom(7);
  const known: string[] = [];
  const attempt = (): CommandInit => {
    const of = { marketId: openMarket, side: random(2) === 0 ? Side.BUY : Side.SELL };
    const base = { ...of, size: (BigInt(random(60)) * one) / 10n + 1n };
    const orderId = known[random(known.length)];
    const kind = random(10);
    if (kind === 0) {
      return { case: "orderCancellation", value: { marketId: random(4) === 0 ? "" : openMarket } };
    }
    if (kind <= 3 && orderId !== undefined) {
      const more = random(2) === 0 ? { size: base.size } : { sizeDelta: (BigInt(random(40) - 10) * one) / 10n || 1n };
      return { case: "orderAmendment", value: { orderId, marketId: openMarket, ...more } };
    }
    if (kind === 4) {
      const { IOC } = Order_TimeInForce;
      return { case: "orderSubmission", value: { ...base, type: Order_Type.MARKET, timeInForce: IOC } };
    }
    const price = of.side === Side.BUY ? String(1 + random(1000)) : String(9_000_000 + random(1000));
    const order = { ...base, price, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC };
    return kind === 5
      ? { case: "batchMarketInstructions", value: { cancellations: [{}], submissions: [order, order] } }
      : { case: "orderSubmission", value: order };
  };
  const counts = { signed: 0, refused: 0, rejected: 0, looks: 0 };
  const send = async (command: CommandInit) => {
    try {
      await client.sendCommand(command, { signer: guard });
      counts.signed += 1;
    } catch (reason) {
      if (reason instanceof PolicyError) {
        counts.refused += 1;
      } else if (reason instanceof TransactionError) {
        counts.rejected += 1;
      } else {
        throw reason;
      }
    }
  };
  const filter = { partyIds: [signer.publicKey] };
  /** Positions are read before orders: what is filled in between counts once at most, so no violation is invented. */
  const look = async () => {
    const data = observer.service(TradingDataService);
    const { positions } = await data.listAllPositions({ filter });
    const { orders } = await data.listOrders({ filter: { ...filter, liveOnly: true } });
    const live = orders?.edges.flatMap(({ node: each }) => (each === undefined ? [] : [each])) ?? [];
    const position = positions?.edges[0]?.node?.openVolume ?? 0n;
    const sum = (side: Side) =>
      live.filter((each) => each.side === side).reduce((all, each) => all + each.remaining, 0n);
    const worst = [position + sum(Side.BUY), sum(Side.SELL) - position];
    expect(worst.every((each) => each <= 9n * one)).toBe(true);
    expect(live.every((each) => each.size <= 4n * one)).toBe(true);
    known.splice(0, known.length, ...live.map(({ id }) => id));
    counts.looks += 1;
  };
  for (let turn = 0; turn < 60; turn += 1) {
    await Promise.all(Array.from({ length: 12 }, () => send(attempt())));
    await look();
  }
  const report = await guard.kill({ timeoutMs: 20_000 });
  expect(counts.looks).toBe(60);
  expect(counts.signed).toBeGreaterThan(50);
  expect(counts.refused).toBeGreaterThan(100);
  expect(report.orders).toEqual([]);
}, 300_000);
