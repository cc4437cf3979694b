import type { MessageInitShape } from "@bufbuild/protobuf";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { expect, test } from "@jest/globals";
import type { BusEventSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { Order_Status, Order_TimeInForce, Order_Type } from "tradewire/gen/vega/vega_pb.js";
import { joinLifecycle } from "../../../src/trade/live/order-lifecycle.js";
import { eventOf, take } from "../../support/event-server.js";
import { parseEvent, parseEventsRequest } from "./inside.js";

type Content = NonNullable<MessageInitShape<typeof BusEventSchema>["event"]>;

const { ACTIVE, CANCELLED } = Order_Status;
const limit = { status: ACTIVE, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC, price: "7" };
const order = (id: string): Content => ({ case: "order", value: { id, partyId: "a1".repeat(32), ...limit } });
const canceled = (...orderIds: string[]): Content => ({
  case: "cancelledOrders",
  value: { marketId: "m", partyId: "a1".repeat(32), orderIds },
});

test("remembers 100 000 live orders, and forgets the oldest beyond them", async () => {
  const events = Array.from({ length: 100_001 }, (_, at) => eventOf(`1-${at}`, { event: order(`order ${at}`) }));
  const batches = createAsyncIterable([
    [...events, eventOf("2-1", { event: canceled("order 0", "order 1") })].map(parseEvent),
  ]);
  const request = parseEventsRequest({ types: ["order"], lifecycle: true });
  const records = () => {
    throw new Error("nothing is listed");
  };
  const service = () => {
    throw new Error("nothing is called");
  };
  const joined = joinLifecycle(batches, request, { records, service, signal: new AbortController().signal });
  const [items = []] = await take(1, joined);
  expect(items.slice(-2)).toMatchObject([
    { kind: "order", value: { id: "order 0", price: "", status: CANCELLED } },
    { kind: "order", value: { id: "order 1", price: "7", status: CANCELLED } },
  ]);
});
