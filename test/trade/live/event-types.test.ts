import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { eventTypes } from "tradewire";
import { BusEventSchema, BusEventType, BusEventTypeSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { busEventTypeName, parseEventType } from "../../../src/trade/live/event-types.js";

/** The types whose two names in the definitions differ in more than their spelling, each checked by what it holds. */
const others = {
  epochEvent: "EPOCH_UPDATE",
  rewardPayout: "REWARD_PAYOUT_EVENT",
  rankingEvent: "VALIDATOR_RANKING",
  erc20MultisigSetThresholdEvent: "ERC20_MULTI_SIG_SET_THRESHOLD",
  positionStateEvent: "POSITION_STATE",
  protocolUpgradeEvent: "PROTOCOL_UPGRADE_PROPOSAL",
  coreSnapshotEvent: "SNAPSHOT_TAKEN",
  distressedOrders: "DISTRESSED_ORDERS_CLOSED",
  feesStats: "FEES_STATS_UPDATED",
  paidLiquidityFeesStats: "PAID_LIQUIDITY_FEES_STATS_UPDATED",
  vestingBalancesSummary: "VESTING_SUMMARY",
  transferFees: "TRANSFER_FEES_PAID",
  transferFeesDiscount: "TRANSFER_FEES_DISCOUNT_UPDATED",
  txErrEvent: "TX_ERROR",
};
/** The types that have no event of their own. A node of v0.78.0 refuses all of them but `ALL` (`protoMap` in core/events/bus.go). */
const without = ["UNSPECIFIED", "ALL", "STREAM_START", "SPOT_LIQUIDITY_PROVISION"];

describe("the types of events", () => {
  test("are the cases of BusEvent, one for one", () => {
    const cases = BusEventSchema.oneofs[0]?.fields.map(({ localName }) => localName);
    expect([...eventTypes].sort()).toEqual(cases?.sort());
  });

  test("are listed in docs/live.md", async () => {
    const text = await readFile("docs/live.md", "utf8");
    const [, list] = /The types of this release:\n\n```text\n(.*?)\n```/s.exec(text) ?? [];
    expect(list?.split(/\s+/)).toEqual([...eventTypes]);
  });

  test("have the name of their own type in BusEventType, and each has another", () => {
    const names = new Map(eventTypes.map((type) => [type, busEventTypeName(type)]));
    expect(new Set(names.values()).size).toBe(names.size);
    const plain = (name: string) => name.replaceAll("_", "").toLowerCase();
    const different = [...names].filter(([type, name]) => plain(type) !== plain(name));
    expect(Object.fromEntries(different)).toEqual(others);
    const unused = BusEventTypeSchema.values.map(({ localName }) => localName);
    for (const name of names.values()) {
      unused.splice(unused.indexOf(name), 1);
      expect(BusEventType[name]).toBe(BusEventTypeSchema.values.find(({ localName }) => localName === name)?.number);
    }
    expect(unused).toEqual(without);
  });

  test.each([
    [
      "ordr",
      'types[0] must be an event type (got "ordr")',
      "Did you mean order? live.md in the documentation lists all types.",
    ],
    [
      "Trade",
      'types[0] must be an event type (got "Trade")',
      "Did you mean trade? live.md in the documentation lists all types.",
    ],
    [
      "toString",
      'types[0] must be an event type (got "toString")',
      expect.stringContaining("live.md in the documentation"),
    ],
  ])("%s is none", (name, summary, advice) => {
    expect(() => parseEventType(name, "types[0]")).toThrow(expect.objectContaining({ summary, advice }));
  });
});
