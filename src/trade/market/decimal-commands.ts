import type {
  OrderAmendment,
  OrderAmendmentSchema,
  OrderSubmission,
  OrderSubmissionSchema,
  StopOrderSetup,
  StopOrderSetupSchema,
  StopOrdersSubmissionSchema,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import type { PeggedOrder, StopOrder_SizeOverrideValueSchema } from "../../../gen/vega/vega_pb.js";
import { assertKnownKeys } from "../../base/input/assert.js";
import type { FieldsInit, InitOf } from "../../base/input/init.js";
import { type DecimalRules, parseByRules } from "./decimal.js";

/** An order whose prices and sizes are decimal numbers. The other fields are those of `OrderSubmission`. */
export interface DecimalOrder
  extends Partial<
    Pick<
      FieldsInit<OrderSubmission>,
      "side" | "timeInForce" | "type" | "expiresAt" | "reference" | "postOnly" | "reduceOnly"
    >
  > {
  /** The size, in the market's decimals for sizes. */
  readonly size: string;
  /** The price, in the market's decimals for prices, a multiple of its tick size. A limit order needs it. */
  readonly price?: string | undefined;
  /** The offset of a pegged order from a reference price. The offset has the decimals and the tick size of prices. */
  readonly peggedOrder?:
    | (Required<Pick<FieldsInit<PeggedOrder>, "reference">> & Pick<PeggedOrder, "offset">)
    | undefined;
  /** Shows only a part of the order on the book. Both are sizes. */
  readonly icebergOpts?: { readonly peakSize: string; readonly minimumVisibleSize: string } | undefined;
}

/** A change of an order whose prices and sizes are decimal numbers. The other fields are those of `OrderAmendment`. */
export interface DecimalAmendment
  extends Pick<OrderAmendment, "orderId">,
    Partial<Pick<FieldsInit<OrderAmendment>, "expiresAt" | "timeInForce" | "peggedReference">> {
  /** The new price. */
  readonly price?: string | undefined;
  /** The new size. */
  readonly size?: string | undefined;
  /** The amount to add to the size; negative to reduce it. */
  readonly sizeDelta?: string | undefined;
  /** The new offset of a pegged order. */
  readonly peggedOffset?: string | undefined;
}

/** One half of a stop order whose prices and sizes are decimal numbers. The other fields are those of `StopOrderSetup`. */
export interface DecimalStopOrder
  extends Partial<Pick<FieldsInit<StopOrderSetup>, "expiresAt" | "expiryStrategy" | "sizeOverrideSetting">> {
  /** The order that is submitted when the stop order triggers. */
  readonly orderSubmission: DecimalOrder;
  /**
   * The trigger: a price in the market's decimals, which the tick size does not restrict, or a trailing offset as a
   * fraction, such as `0.01` for 1%.
   */
  readonly trigger: { readonly case: "price" | "trailingPercentOffset"; readonly value: string };
  readonly sizeOverrideValue?: InitOf<typeof StopOrder_SizeOverrideValueSchema> | undefined;
}

/** A stop order, or a pair in which one cancels the other. */
export interface DecimalStopOrders {
  readonly risesAbove?: DecimalStopOrder | undefined;
  readonly fallsBelow?: DecimalStopOrder | undefined;
}

/** A command of one type, for `client.sendCommand` and `client.signCommand`. */
interface CommandOf<C extends string, V> {
  readonly case: C;
  readonly value: V;
}

/** Commands to one market, from decimal numbers. */
export interface DecimalCommands {
  /**
   * Creates the command that submits an order.
   *
   * @param order the order, with decimal numbers
   * @returns the command
   * @throws {@link RequestError} if a number would have to be rounded, or a field is unknown
   *
   * @example
   * const units = await client.marketUnits(marketId);
   * const order = { side: "BUY", type: "LIMIT", timeInForce: "GTC", price: "1.2", size: "3" } as const;
   * await client.sendCommand(units.order(order), { signer });
   */
  order(order: DecimalOrder): CommandOf<"orderSubmission", InitOf<typeof OrderSubmissionSchema>>;
  /**
   * Creates the command that changes an order.
   *
   * @param amendment the order's identifier and the changes, with decimal numbers
   * @returns the command
   * @throws {@link RequestError} if a number would have to be rounded, or a field is unknown
   *
   * @example
   * await client.sendCommand(units.amendment({ orderId, price: "1.25" }), { signer });
   */
  amendment(amendment: DecimalAmendment): CommandOf<"orderAmendment", InitOf<typeof OrderAmendmentSchema>>;
  /**
   * Creates the command that submits a stop order, or a pair in which one cancels the other.
   *
   * @param stopOrders one or both halves, with decimal numbers
   * @returns the command
   * @throws {@link RequestError} if a number would have to be rounded, or a field is unknown
   *
   * @example
   * const orderSubmission = { side: "SELL", type: "MARKET", timeInForce: "IOC", size: "3" } as const;
   * const trigger = { case: "price", value: "1.1" } as const;
   * const fallsBelow = { orderSubmission: { ...orderSubmission, reduceOnly: true }, trigger };
   * await client.sendCommand(units.stopOrders({ fallsBelow }), { signer });
   */
  stopOrders(
    stopOrders: DecimalStopOrders,
  ): CommandOf<"stopOrdersSubmission", InitOf<typeof StopOrdersSubmissionSchema>>;
}

/** The units of the numbers in a market's commands. */
export interface CommandUnits {
  readonly marketId: string;
  readonly priceDecimals: number;
  readonly sizeDecimals: number;
  /** In units of the price. */
  readonly tickSize: bigint;
}

const ORDER_FIELDS = {
  side: true,
  timeInForce: true,
  type: true,
  expiresAt: true,
  reference: true,
  postOnly: true,
  reduceOnly: true,
  size: true,
  price: true,
  peggedOrder: true,
  icebergOpts: true,
} as const;
const AMENDMENT_FIELDS = {
  orderId: true,
  expiresAt: true,
  timeInForce: true,
  peggedReference: true,
  price: true,
  size: true,
  sizeDelta: true,
  peggedOffset: true,
} as const;
const STOP_ORDER_FIELDS = {
  expiresAt: true,
  expiryStrategy: true,
  sizeOverrideSetting: true,
  sizeOverrideValue: true,
  orderSubmission: true,
  trigger: true,
} as const;

export function createDecimalCommands({
  marketId,
  priceDecimals,
  sizeDecimals,
  tickSize,
}: CommandUnits): DecimalCommands {
  const owner = `market ${marketId}`;
  const parse = (text: string, decimals: number, option: string, rules: Partial<DecimalRules> = {}) =>
    parseByRules(text, decimals, { option, owner, isSigned: false, ...rules });
  const priceOf = (text: string, option: string, tick = tickSize) =>
    String(parse(text, priceDecimals, option, { tick }));
  const sizeOf = (text: string, option: string) => parse(text, sizeDecimals, option);

  function submissionOf(order: DecimalOrder, path: string) {
    assertKnownKeys(path === "" ? "the order" : path, order, ORDER_FIELDS);
    const { price, size, peggedOrder, icebergOpts, ...fields } = order;
    const nameOf = (field: string) => (path === "" ? field : `${path}.${field}`);
    return {
      ...fields,
      marketId,
      size: sizeOf(size, nameOf("size")),
      ...(price !== undefined && { price: priceOf(price, nameOf("price")) }),
      ...(peggedOrder !== undefined && {
        peggedOrder: { ...peggedOrder, offset: priceOf(peggedOrder.offset, nameOf("peggedOrder.offset")) },
      }),
      ...(icebergOpts !== undefined && {
        icebergOpts: {
          ...icebergOpts,
          peakSize: sizeOf(icebergOpts.peakSize, nameOf("icebergOpts.peakSize")),
          minimumVisibleSize: sizeOf(icebergOpts.minimumVisibleSize, nameOf("icebergOpts.minimumVisibleSize")),
        },
      }),
    };
  }

  function setupOf(stopOrder: DecimalStopOrder, path: string): InitOf<typeof StopOrderSetupSchema> {
    assertKnownKeys(path, stopOrder, STOP_ORDER_FIELDS);
    const { orderSubmission, trigger, sizeOverrideValue, ...fields } = stopOrder;
    return {
      ...fields,
      orderSubmission: submissionOf(orderSubmission, `${path}.orderSubmission`),
      // A trailing offset is a fraction, which the market's decimals do not scale.
      trigger:
        trigger.case === "price" ? { ...trigger, value: priceOf(trigger.value, `${path}.trigger.value`, 1n) } : trigger,
      ...(sizeOverrideValue !== undefined && { sizeOverrideValue }),
    };
  }

  return {
    order: (order) => ({ case: "orderSubmission", value: submissionOf(order, "") }),

    amendment(amendment) {
      assertKnownKeys("the amendment", amendment, AMENDMENT_FIELDS);
      const { price, size, sizeDelta, peggedOffset, ...fields } = amendment;
      const value = {
        ...fields,
        marketId,
        ...(price !== undefined && { price: priceOf(price, "price") }),
        ...(size !== undefined && { size: sizeOf(size, "size") }),
        ...(sizeDelta !== undefined && {
          sizeDelta: parse(sizeDelta, sizeDecimals, "sizeDelta", { isSigned: true }),
        }),
        ...(peggedOffset !== undefined && { peggedOffset: priceOf(peggedOffset, "peggedOffset") }),
      };
      return { case: "orderAmendment", value };
    },

    stopOrders(stopOrders) {
      assertKnownKeys("the stop orders", stopOrders, { risesAbove: true, fallsBelow: true });
      const { risesAbove, fallsBelow } = stopOrders;
      const value = {
        ...(risesAbove !== undefined && { risesAbove: setupOf(risesAbove, "risesAbove") }),
        ...(fallsBelow !== undefined && { fallsBelow: setupOf(fallsBelow, "fallsBelow") }),
      };
      return { case: "stopOrdersSubmission", value };
    },
  };
}
