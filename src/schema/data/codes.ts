import type { DescEnum } from "@bufbuild/protobuf";
import {
  type Order_Status,
  Order_StatusSchema,
  type Order_TimeInForce,
  Order_TimeInForceSchema,
  type Order_Type,
  Order_TypeSchema,
  type OrderError,
  OrderErrorSchema,
  type PeggedReference,
  PeggedReferenceSchema,
  type Side,
  SideSchema,
  type Trade_Type,
  Trade_TypeSchema,
} from "../../../gen/client/vega/vega_pb.js";

/** The names of the API's enums that numbers in the tables represent. */
export interface WireEnums {
  "vega.Order.Status": `STATUS_${keyof typeof Order_Status}`;
  "vega.Order.TimeInForce": `TIME_IN_FORCE_${keyof typeof Order_TimeInForce}`;
  "vega.Order.Type": `TYPE_${keyof typeof Order_Type}`;
  "vega.OrderError": `ORDER_ERROR_${keyof typeof OrderError}`;
  "vega.PeggedReference": `PEGGED_REFERENCE_${keyof typeof PeggedReference}`;
  "vega.Side": `SIDE_${keyof typeof Side}`;
  "vega.Trade.Type": `TYPE_${keyof typeof Trade_Type}`;
}

/** The full name of an enum of the API. */
export type WireEnum = keyof WireEnums;

/** The descriptors of the API's enums that numbers in the tables represent. */
export const wireEnums: { readonly [name in WireEnum]: DescEnum } = {
  "vega.Order.Status": Order_StatusSchema,
  "vega.Order.TimeInForce": Order_TimeInForceSchema,
  "vega.Order.Type": Order_TypeSchema,
  "vega.OrderError": OrderErrorSchema,
  "vega.PeggedReference": PeggedReferenceSchema,
  "vega.Side": SideSchema,
  "vega.Trade.Type": Trade_TypeSchema,
};
