// Stop orders of all shapes: what the client reports, beside the stop orders that the data node lists.
import assert from "node:assert/strict";
import { vega } from "tradewire/api";
import { idOf } from "./commands.mjs";
import { limitOrder, PRICE, percent } from "./market.mjs";
import { eventually } from "./network.mjs";

const {
  Side,
  Order_TimeInForce: TimeInForce,
  Order_Type: Type,
  StopOrder_Status: Status,
  StopOrder_RejectionReason: Reason,
  StopOrder_ExpiryStrategy: Expiry,
  StopOrder_SizeOverrideSetting: SizeOverride,
} = vega;

/** Make the cases. They run one after the other, for a party that is long. */
export function stopOrderCases({ network, market, report }) {
  const { data } = network.services;
  const { grpc } = network.clients;
  const lines = [];
  let trader;

  /** A party with a long position of 5, whose stop orders sell. */
  async function long() {
    trader ??= (async () => {
      const { id, alice, bob } = await market();
      const signer = network.signer("trader");
      await network.fund([signer]);
      await send(limitOrder(id, "SELL", percent(100), 5n), bob);
      await send(limitOrder(id, "BUY", percent(100), 5n), signer);
      return { id, alice, bob, signer };
    })();
    return trader;
  }

  const send = (command, signer, signal) => grpc.sendCommand(command, { signer, signal, until: "executed" });

  /** The setup of a stop order that sells. */
  function setup(marketId, price, { size = 1n, side = Side.SELL, trigger, ...more } = {}) {
    const orderSubmission = {
      marketId,
      side,
      size,
      timeInForce: TimeInForce.IOC,
      type: Type.MARKET,
      reduceOnly: true,
    };
    return { orderSubmission, trigger: trigger ?? { case: "price", value: price }, ...more };
  }

  /** Wait for a stop order in the data node. */
  const stopOrder = (id, wanted) =>
    eventually(`stop order ${id} with a status of ${wanted.map((each) => Status[each])}`, async () => {
      const found = await data.getStopOrder({ orderId: id }).catch(() => undefined);
      return wanted.includes(found?.order?.stopOrder?.status) ? found.order.stopOrder : undefined;
    });

  /** Submit stop orders, and compare the outcome and each of them with what is expected. */
  async function submit(name, { signer, command, status, reason, expected, signal }) {
    const { outcome, transaction } = await send(command, signer, signal);
    const ids = expected.map((_, at) => idOf(transaction.signature.value, at));
    const listed = await Promise.all(expected.map((each, at) => stopOrder(ids[at], [each.status])));
    const shown = listed.map((each) => {
      const why = each.rejectionReason ? ` (${Reason[each.rejectionReason]})` : "";
      return `${each.triggerDirection === 2 ? "fallsBelow" : "risesAbove"} ${Status[each.status]}${why}`;
    });
    lines.push(
      `${name}: client ${outcome.status}${outcome.reason ? ` "${outcome.reason}"` : ""}; listed ${shown.join(", ")}`,
    );
    for (const [at, { direction, rejection }] of expected.entries()) {
      assert.equal(listed[at].triggerDirection, direction, `direction of id ${at}`);
      assert.equal(listed[at].rejectionReason ?? 0, rejection ?? 0, `reason of id ${at}`);
    }
    assert.equal(outcome.status, status, `${outcome.reason}`);
    if (reason !== undefined) {
      assert.match(outcome.reason, reason);
    }
    assert.deepEqual(
      outcome.parts.flatMap(({ id }) => (id === undefined ? [] : [id])).sort(),
      [...new Set(ids)].sort(),
      "ids of the outcome's parts",
    );
    return listed;
  }

  const stop = (value) => ({ case: "stopOrdersSubmission", value });
  const FALLS = 2;
  const RISES = 1;
  const pending = (direction) => ({ status: Status.PENDING, direction });
  const rejected = (direction, rejection) => ({ status: Status.REJECTED, direction, rejection });
  const cases = {
    async "a pair: fallsBelow has the first id"(signal) {
      const { id, signer } = await long();
      const command = stop({ risesAbove: setup(id, percent(300)), fallsBelow: setup(id, percent(10)) });
      const expected = [pending(FALLS), pending(RISES)];
      const [first, second] = await submit("pair", { signer, command, status: "executed", expected, signal });
      assert.equal(first.ocoLinkId, second.id);
      assert.equal(second.ocoLinkId, first.id);
      await send({ case: "stopOrdersCancellation", value: { marketId: id, stopOrderId: first.id } }, signer);
      await Promise.all([
        stopOrder(first.id, [Status.CANCELLED]),
        stopOrder(second.id, [Status.CANCELLED, Status.STOPPED]),
      ]);
    },
    async "one that rises"(signal) {
      const { id, signer } = await long();
      const command = stop({ risesAbove: setup(id, percent(300)) });
      await submit("rises above", { signer, command, status: "executed", expected: [pending(RISES)], signal });
    },
    async "in a batch after a submission"(signal) {
      const { id, signer } = await long();
      const submissions = [limitOrder(id, "BUY", percent(50)).value, limitOrder(id, "BUY", percent(51)).value];
      const value = { submissions, stopOrdersSubmission: [{ fallsBelow: setup(id, percent(10)) }] };
      const { outcome, transaction } = await send({ case: "batchMarketInstructions", value }, signer, signal);
      assert.equal(outcome.status, "executed", outcome.reason);
      // The network gives the first stop order the id of the last submission.
      const last = idOf(transaction.signature.value, 1);
      const { status } = await stopOrder(last, [Status.PENDING]);
      assert.equal(status, Status.PENDING);
      const byPath = Object.fromEntries(outcome.parts.map(({ path, id: own }) => [path, own]));
      lines.push(
        `batch: ${Object.entries(byPath).map(([path, own]) => `${path} ${own === last ? "the last submission's id" : own}`)}`,
      );
      assert.equal(byPath["submissions[1]"], last, "id of submissions[1]");
      assert.equal(
        byPath["stopOrdersSubmission[0]"] ?? byPath["stopOrdersSubmission[0].fallsBelow"],
        last,
        "id of the stop order",
      );
    },
    async "cancelled at its expiry"(signal) {
      const { id, signer } = await long();
      const more = { expiresAt: soon(), expiryStrategy: Expiry.CANCELS };
      const command = stop({ fallsBelow: setup(id, percent(10), more) });
      const expected = [pending(FALLS)];
      const [{ id: own }] = await submit("expiry cancels", { signer, command, status: "executed", expected, signal });
      const { orderId } = await stopOrder(own, [Status.EXPIRED]);
      assert.equal(orderId, "");
    },
    async "submitted at its expiry"(signal) {
      const { id, signer } = await long();
      const more = { expiresAt: soon(), expiryStrategy: Expiry.SUBMIT };
      const command = stop({ fallsBelow: setup(id, percent(10), more) });
      const expected = [pending(FALLS)];
      const [{ id: own }] = await submit("expiry submits", { signer, command, status: "executed", expected, signal });
      const { orderId } = await stopOrder(own, [Status.EXPIRED]);
      assert.notEqual(orderId, "");
    },
    async "expired when it is submitted"(signal) {
      const { id, signer } = await long();
      const more = { expiresAt: 1_500_000_000_000_000_000n, expiryStrategy: Expiry.CANCELS };
      const command = stop({ fallsBelow: setup(id, percent(10), more) });
      const expected = [rejected(FALLS, Reason.EXPIRY_IN_THE_PAST)];
      await submit("expiry in the past", {
        signer,
        command,
        status: "failed",
        reason: /EXPIRY_IN_THE_PAST/,
        expected,
        signal,
      });
    },
    async "rejected without a position"(signal) {
      const { id } = await long();
      const signer = network.signer("without position");
      await network.fund([signer]);
      const command = stop({ fallsBelow: setup(id, percent(10)) });
      const expected = [rejected(FALLS, Reason.STOP_ORDER_NOT_ALLOWED_WITHOUT_A_POSITION)];
      const reason = /WITHOUT_A_POSITION/;
      await submit("no position", { signer, command, status: "failed", reason, expected, signal });
    },
    async "rejected as the fifth"(signal) {
      const { id, signer } = await long();
      for (const price of [1, 2, 3, 4]) {
        await send(stop({ fallsBelow: setup(id, String(price)) }), signer, signal);
      }
      const command = stop({ fallsBelow: setup(id, "5") });
      const expected = [rejected(FALLS, Reason.MAX_STOP_ORDERS_PER_PARTY_REACHED)];
      await submit("fifth", { signer, command, status: "failed", reason: /MAX_STOP_ORDERS/, expected, signal });
    },
    async "with a trailing offset"(signal) {
      const { id, signer } = await long();
      const trigger = { case: "trailingPercentOffset", value: "0.2" };
      const command = stop({ fallsBelow: setup(id, undefined, { trigger }) });
      const expected = [pending(FALLS)];
      const [found] = await submit("trailing", { signer, command, status: "executed", expected, signal });
      assert.deepEqual(found.trigger, trigger);
    },
    async "with a size override"(signal) {
      const { id, signer } = await long();
      const more = { sizeOverrideSetting: SizeOverride.POSITION, sizeOverrideValue: { percentage: "0.5" } };
      const command = stop({ fallsBelow: setup(id, percent(10), more) });
      const expected = [pending(FALLS)];
      const [found] = await submit("size override", { signer, command, status: "executed", expected, signal });
      assert.equal(found.sizeOverrideValue?.percentage, "0.5");
    },
    async "triggered when it is submitted"(signal) {
      const { id, signer } = await long();
      const command = stop({ fallsBelow: setup(id, String(PRICE * 2n)) });
      const expected = [{ status: Status.TRIGGERED, direction: FALLS }];
      const [{ orderId }] = await submit("already passed", { signer, command, status: "executed", expected, signal });
      assert.notEqual(orderId, "");
    },
    async "cancelling an unknown one succeeds"(signal) {
      const { id, signer } = await long();
      const value = { marketId: id, stopOrderId: "e".repeat(64) };
      const { outcome } = await send({ case: "stopOrdersCancellation", value }, signer, signal);
      assert.equal(outcome.status, "executed", outcome.reason);
    },
    async "what was observed"() {
      report.figure("stop orders", lines);
    },
  };
  /** Cancel what a case leaves: a party has four stop orders at most. */
  async function alone(check, signal) {
    try {
      await check(signal);
    } finally {
      const { id, signer } = await long();
      await send({ case: "stopOrdersCancellation", value: { marketId: id } }, signer);
    }
  }
  return Object.entries(cases).map(([name, check]) => ({
    group: "stop orders",
    name,
    check: (signal) => alone(check, signal),
  }));
}

/** A few blocks from now, in nanoseconds. */
const soon = () => BigInt(Date.now() + 4000) * 1_000_000n;
