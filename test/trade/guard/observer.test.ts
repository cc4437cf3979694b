// What tells whether the fuzz of `test/endurance/signer.mjs` found anything: it must see what is beyond a policy, and nothing else.
import { expect, it } from "@jest/globals";
import {
  type CommandInit,
  Order_TimeInForce,
  Order_Type,
  Side,
  type Signer,
  StopOrder_ExpiryStrategy,
  StopOrder_SizeOverrideSetting,
} from "tradewire";
import { CoreService } from "tradewire/api";
import { observePolicy, type PolicyObserver } from "../../endurance/policy-observer.mjs";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import { useGuardedNode } from "../../support/guarded-node.js";
import { clientOf, limitOrder, volumeOf } from "../../support/leases.js";

const started = useGuardedNode();
const { GTC, IOC } = Order_TimeInForce;

/** Observes a party by limits that allow orders of 2 near the mark price. */
async function observe(publicKey: string): Promise<PolicyObserver & AsyncDisposable> {
  const { node, one } = started;
  const limits = { maxSize: 2n * one, maxPosition: 10n * one, maxNotional: 1e15, maxDistance: 0.1 };
  const observing = clientOf(node.grpcUrl);
  const observer = observePolicy(observing, publicKey, { [openMarket]: limits });
  await observer.ready;
  return {
    ...observer,
    async [Symbol.asyncDispose]() {
      await observer.stop();
      await observing.close();
    },
  };
}

/** Sends a command, and waits until the observer has seen the blocks until its end. */
async function execute(command: CommandInit, signer: Signer, observer: PolicyObserver): Promise<void> {
  const { client } = started;
  await client.sendCommand(command, { signer, until: "executed" });
  const { height } = await client.lastBlockHeight();
  await eventually(() => observer.height() >= height);
}

/** Sells with a limit price of 1 when the price is below another. */
function stopOrder(size: bigint, price: string, more: object = {}): CommandInit {
  const inner = { type: Order_Type.LIMIT, timeInForce: IOC, side: Side.SELL, price: "1", reduceOnly: true };
  const orderSubmission = { marketId: openMarket, size, ...inner };
  const fallsBelow: object = { orderSubmission, trigger: { case: "price", value: price }, ...more };
  return { case: "stopOrdersSubmission", value: { fallsBelow } };
}

/** A price that every price is below. */
const ALWAYS = "99999999999";

it("the observer of a policy allows the order of a stop order its own price, and the size of the position", async () => {
  const { client, one } = started;
  using signer = await started.newSigner();
  await using observer = await observe(signer.publicKey);
  const near = String(Math.round((observer.mark(openMarket) ?? 0) * 1.09));
  for (let orders = 0; orders < 2; orders += 1) {
    await execute(limitOrder({ size: 2n * one, price: near, timeInForce: IOC }), signer, observer);
  }
  expect(await volumeOf({ client, signer })).toBe(4n * one);
  const { timestamp } = await client.service(CoreService).getVegaTime({});
  await execute(
    stopOrder(one, "1", {
      sizeOverrideSetting: StopOrder_SizeOverrideSetting.POSITION,
      sizeOverrideValue: { percentage: "1" },
      expiresAt: timestamp + 500_000_000n,
      expiryStrategy: StopOrder_ExpiryStrategy.SUBMIT,
    }),
    signer,
    observer,
  );
  await eventually(() => observer.counts.stopOrders === 1);
  expect(await volumeOf({ client, signer })).toBeLessThan(3n * one); // More than its own size was sold.
  expect(observer.violations).toEqual([]);
});

it("the observer of a policy sees what is beyond it", async () => {
  const { one } = started;
  using signer = await started.newSigner();
  await using observer = await observe(signer.publicKey);
  const near = String(Math.round((observer.mark(openMarket) ?? 0) * 1.09));
  await execute(limitOrder({ size: 2n * one, price: near, timeInForce: IOC }), signer, observer);
  await execute(stopOrder(3n * one, ALWAYS), signer, observer);
  await eventually(() => observer.counts.stopOrders === 1);
  const ofPosition = {
    sizeOverrideSetting: StopOrder_SizeOverrideSetting.POSITION,
    sizeOverrideValue: { percentage: "1" },
  };
  await execute(limitOrder({ size: 2n * one, price: near, timeInForce: IOC }), signer, observer);
  // The network takes the size of the position only if the price is reached later.
  await execute(stopOrder(20n * one, ALWAYS, ofPosition), signer, observer);
  await eventually(() => observer.counts.stopOrders === 2);
  await execute(limitOrder({ size: 3n * one, price: near, timeInForce: IOC }), signer, observer);
  await execute(limitOrder({ size: one, price: "1", timeInForce: GTC }), signer, observer);
  const market = { type: Order_Type.MARKET, price: "", timeInForce: IOC };
  await execute(limitOrder({ size: one, ...market }), signer, observer);
  expect(observer.violations).toEqual([
    expect.stringMatching(/of stop order [0-9a-f]{64} has size 3,/),
    expect.stringMatching(/of stop order [0-9a-f]{64} has size 20,/),
    expect.stringMatching(/order [0-9a-f]{64} has size 3,/),
    expect.stringMatching(/from the mark price/),
    expect.stringMatching(/has no price/),
  ]);
});
