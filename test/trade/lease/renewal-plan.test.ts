import { describe, expect, it } from "@jest/globals";
import { Side } from "tradewire";
import { isOpening, planOpening, planRenewals } from "../../../src/trade/lease/renewal-plan.js";
import { createLeaseState, forgetUnsent, type LeaseBatch, type LeaseState, noteSigned } from "./inside.js";

const marketId = "ab".repeat(32);
const settings = { flattenAfterMs: [3000, 3100, 3200, 3300] };
const limits = { batchSize: 10, stopOrders: 4 };

/** A market with an order on the bid and its four stop orders, which the network has placed. */
function placed(): LeaseState {
  const state = createLeaseState();
  state.orders.set("order", { id: "order", marketId, side: Side.BUY, expiresAt: 10n ** 18n });
  for (const id of ["a1", "a2", "a3", "a4"]) {
    state.stops.set(id, { id, marketId, side: Side.SELL, expiresAt: 10n ** 18n, status: "placed", canceledBy: [] });
  }
  return state;
}

/** Signs what is planned first, and returns the batch with the parts that have identifiers. */
function sign(state: LeaseState, [batch]: readonly LeaseBatch[], name: string) {
  if (batch === undefined) {
    throw new Error("nothing is planned");
  }
  const parts = batch.submittedStops.map((_, at) => ({
    path: `stopOrdersSubmission[${at}]`,
    id: `${name}${at + 1}`,
    errorKey: String(at),
    brings: undefined,
  }));
  noteSigned(state, batch, parts, { time: 0n, leaseMs: 3000 });
  return { batch, parts };
}

const planned = (state: LeaseState) => planRenewals(state, marketId, settings, limits);
const cancelled = ([batch]: readonly Pick<LeaseBatch, "cancelledStops">[]) =>
  batch?.cancelledStops.map(({ id }) => id).sort();

describe("a renewal that cannot cancel all stop orders", () => {
  it("cancels first those that no transaction cancels", () => {
    const state = placed();
    sign(state, planned(state), "b");
    expect(cancelled(planned(state))).toEqual(["a1", "a2", "b1", "b2", "b3", "b4"]);
  });

  it("takes one for canceled no longer if its cancellation was certainly not sent", () => {
    const state = placed();
    sign(state, planned(state), "b");
    const { batch, parts } = sign(state, planned(state), "c");
    forgetUnsent(state, batch, parts);
    expect(cancelled(planned(state))).toEqual(["a1", "a2", "b1", "b2", "b3", "b4"]);
  });
});

describe("an order whose position a placed stop order would close", () => {
  const next = { marketId, side: Side.BUY };
  const covers = (state: LeaseState) => !isOpening(state, next, settings);

  it("needs none of its own, also while a renewal replaces it", () => {
    const state = placed();
    expect(covers(state)).toBe(true);
    sign(state, planned(state), "b");
    expect(covers(state)).toBe(true);
  });

  it("needs some of its own once a renewal cancels it and places no other", () => {
    const state = placed();
    state.orders.clear();
    sign(state, planned(state), "b");
    expect([...state.stops.values()].map(({ status }) => status)).toEqual(["placed", "placed", "placed", "placed"]);
    expect(covers(state)).toBe(false);
    expect(planOpening(state, next, settings, limits).submittedStops).toHaveLength(4);
  });

  it("has it replaced by a renewal that is planned before the order is signed", () => {
    const state = placed();
    state.orders.clear();
    state.submitting.add(next);
    expect(planned(state)[0]?.submittedStops.map(({ side }) => side)).toEqual(
      Array.from({ length: 4 }, () => Side.SELL),
    );
  });
});
