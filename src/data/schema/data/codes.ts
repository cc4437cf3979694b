import type { DescEnum } from "@bufbuild/protobuf";
import {
  Order_StatusSchema,
  Order_TimeInForceSchema,
  Order_TypeSchema,
  OrderErrorSchema,
  PeggedReferenceSchema,
  SideSchema,
  Trade_TypeSchema,
} from "../../../../gen/client/vega/vega_pb.js";

/** The descriptors of the API's enums that numbers in the tables represent. */
export const wireEnums = {
  "vega.Order.Status": Order_StatusSchema,
  "vega.Order.TimeInForce": Order_TimeInForceSchema,
  "vega.Order.Type": Order_TypeSchema,
  "vega.OrderError": OrderErrorSchema,
  "vega.PeggedReference": PeggedReferenceSchema,
  "vega.Side": SideSchema,
  "vega.Trade.Type": Trade_TypeSchema,
} as const satisfies Readonly<Record<string, DescEnum>>;

/** The full name of an API enum that the tables store as numbers. */
export type WireEnum = keyof typeof wireEnums;
