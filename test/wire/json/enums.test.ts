import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { enumName, messageToJson, ProtocolError } from "tradewire";
import {
  ListStopOrdersRequestSchema,
  ListStopOrdersResponseSchema,
  StopOrderFilterSchema,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { StopOrder_Status, StopOrder_StatusSchema, StopOrderSchema } from "tradewire/gen/vega/vega_pb.js";
import { messageFromJson } from "./inside.js";

describe("an enum value that the definitions do not have", () => {
  it("keeps its name, beside values that they have", () => {
    const page = messageFromJson(ListStopOrdersResponseSchema, {
      orders: {
        edges: [
          {
            cursor: "1",
            node: { stopOrder: { status: "STATUS_FROZEN", triggerDirection: "TRIGGER_DIRECTION_RISES_ABOVE" } },
          },
          { cursor: "2", node: { stop_order: { status: "STATUS_MELTED", expiry_strategy: "EXPIRY_STRATEGY_LATER" } } },
          { cursor: "3", node: { stopOrder: { status: "STATUS_PENDING" } } },
          { cursor: "4", node: { stopOrder: { status: "STATUS_FROZEN" }, submission: { side: "SIDE_BOTH" } } },
        ],
      },
    });
    const orders = page.orders?.edges.map(({ node }) => node?.stopOrder) ?? [];
    expect(orders.map((order) => enumName(StopOrder_StatusSchema, order?.status ?? 0))).toEqual([
      "STATUS_FROZEN",
      "STATUS_MELTED",
      "STATUS_PENDING",
      "STATUS_FROZEN",
    ]);
    expect(orders[0]?.status).toBe(orders[3]?.status);
    expect(Object.values(StopOrder_Status)).not.toContain(orders[0]?.status);
    expect(messageToJson(ListStopOrdersResponseSchema, page)).toMatchObject({
      orders: {
        edges: [
          { node: { stopOrder: { status: "STATUS_FROZEN", triggerDirection: "TRIGGER_DIRECTION_RISES_ABOVE" } } },
          { node: { stopOrder: { status: "STATUS_MELTED", expiryStrategy: "EXPIRY_STRATEGY_LATER" } } },
          { node: { stopOrder: { status: "STATUS_PENDING" } } },
          { node: { submission: { side: "SIDE_BOTH" } } },
        ],
      },
    });
  });

  it("is kept in a list", () => {
    const json = { filter: { statuses: ["STATUS_PENDING", "STATUS_FROZEN"] } };
    const { filter } = messageFromJson(ListStopOrdersRequestSchema, structuredClone(json));
    expect(filter?.statuses).toHaveLength(2);
    expect(messageToJson(StopOrderFilterSchema, filter ?? create(StopOrderFilterSchema))).toMatchObject(json.filter);
  });

  it("is its number where it came as one", () => {
    const { status } = messageFromJson(StopOrderSchema, { status: 77 });
    expect(status).toBe(77);
    expect(enumName(StopOrder_StatusSchema, status)).toBe("77");
    expect(messageToJson(StopOrderSchema, create(StopOrderSchema, { status }))).toMatchObject({ status: 77 });
  });

  it.each(["", "no name", "STATUS\n", "7", "X".repeat(201)])("is refused where %j is no name", (status) => {
    expect(() => messageFromJson(StopOrderSchema, { status })).toThrow(ProtocolError);
    expect(() => messageFromJson(StopOrderSchema, { status })).toThrow(
      /^status must be the name of an enum value \(got ".*"\)$/m,
    );
  });

  it("is refused where its form is wrong", () => {
    expect(() => messageFromJson(StopOrderSchema, { status: true })).toThrow(ProtocolError);
  });
});

describe("enumName", () => {
  it("gives the full names of known values", () => {
    expect(enumName(StopOrder_StatusSchema, StopOrder_Status.UNSPECIFIED)).toBe("STATUS_UNSPECIFIED");
    expect(enumName(StopOrder_StatusSchema, 6)).toBe("STATUS_REJECTED");
  });
});
