import type { DescEnum, DescField, DescMessage, Message } from "@bufbuild/protobuf";
import {
  type StopOrderEvent,
  type TransactionResult,
  TransactionResult_StatusSchema,
} from "../../gen/vega/events/v1/events_pb.js";
import {
  type Order,
  Order_StatusSchema,
  Order_TimeInForceSchema,
  Order_TypeSchema,
  SideSchema,
  type StopOrder,
  StopOrder_StatusSchema,
  StopOrder_TriggerDirectionSchema,
  type Trade,
} from "../../gen/vega/vega_pb.js";
import { cut } from "../errors/quoted.js";
import { enumName } from "../json/enums.js";
import type { LiveEvent } from "../live/events.js";
import { shortName } from "./listing.js";
import { printable } from "./output.js";

/** The widths of the columns, in characters. Longer values shift the rest of their line. */
const [BLOCK, TYPE, TX] = [8, 17, 9];

/** The most characters of an identifier that is not shown in full. */
const SHORT_ID = 8;

/** The most fields that are shown of events which have no line of their own, and the most characters of each. */
const [FIELDS, CHARACTERS] = [6, 80];

/**
 * Describe an event in one line, for a person: its block, its type, its transaction, and what it is about. Codes have
 * their names, decimals are as the network has them.
 *
 * @param event the event
 * @param desc the descriptor of its value
 * @param wide whether identifiers are shown in full
 * @returns the line, with a line feed, safe for a terminal
 */
export function eventLine(event: LiveEvent, desc: DescMessage, wide: boolean): string {
  const id = (text: string) => (wide || text.length <= SHORT_ID + 1 ? text : `${text.slice(0, SHORT_ID)}…`);
  const columns = [
    String(event.block).padStart(BLOCK),
    event.case.padEnd(TYPE),
    id(event.txHash).padEnd(TX),
    about(event, desc, id).join(" "),
  ];
  return `${printable(columns.join("  ").trimEnd())}\n`;
}

type ShowId = (text: string) => string;

function about(event: LiveEvent, desc: DescMessage, id: ShowId): string[] {
  switch (event.case) {
    case "order":
      return aboutOrder(event.value, id);
    case "trade":
      return aboutTrade(event.value, id);
    case "stopOrder":
      return aboutStopOrder(event.value, id);
    case "transactionResult":
      return aboutResult(event.value, id);
    default:
      return aboutAny(desc, event.value, id);
  }
}

function aboutOrder(order: Order, id: ShowId): string[] {
  return [
    named(Order_StatusSchema, order.status),
    named(SideSchema, order.side),
    ...priced(order),
    `remaining=${order.remaining}`,
    named(Order_TypeSchema, order.type),
    named(Order_TimeInForceSchema, order.timeInForce),
    `id=${id(order.id)}`,
    `party=${id(order.partyId)}`,
    `market=${id(order.marketId)}`,
  ];
}

function aboutTrade(trade: Trade, id: ShowId): string[] {
  return [
    ...priced(trade),
    `aggressor=${named(SideSchema, trade.aggressor)}`,
    `buyer=${id(trade.buyer)}`,
    `seller=${id(trade.seller)}`,
    `id=${id(trade.id)}`,
    `market=${id(trade.marketId)}`,
  ];
}

function aboutStopOrder({ stopOrder, submission }: StopOrderEvent, id: ShowId): string[] {
  return [
    ...(stopOrder === undefined ? [] : [named(StopOrder_StatusSchema, stopOrder.status), triggerText(stopOrder)]),
    ...(submission === undefined ? [] : [named(SideSchema, submission.side), ...priced(submission)]),
    ...(stopOrder === undefined
      ? []
      : [`id=${id(stopOrder.id)}`, `party=${id(stopOrder.partyId)}`, `market=${id(stopOrder.marketId)}`]),
  ];
}

function aboutResult({ statusDetail, transaction, extra, partyId }: TransactionResult, id: ShowId): string[] {
  const why =
    extra.case === "failure"
      ? [extra.value.error, ...extra.value.errors.map(({ key, errors }) => `${key}: ${errors.join(", ")}`)]
      : [];
  return [
    named(TransactionResult_StatusSchema, statusDetail),
    transaction.case ?? "",
    `party=${id(partyId)}`,
    ...why.filter((text) => text !== "").map((text) => cut(JSON.stringify(text), CHARACTERS * 3)),
  ].filter((text) => text !== "");
}

/** The first fields that are set, but for those that are messages or lists. */
function aboutAny(desc: DescMessage, value: Message, id: ShowId): string[] {
  return desc.fields
    .map((field) => ({ field, value: fieldText(field, Reflect.get(value, field.localName)) }))
    .filter(({ value }) => value !== "")
    .slice(0, FIELDS)
    .map(
      ({ field, value }) => `${field.jsonName}=${/^[0-9a-f]{64}$/i.test(value) ? id(value) : cut(value, CHARACTERS)}`,
    );
}

function fieldText(field: DescField, value: unknown): string {
  if (field.fieldKind === "enum" && typeof value === "number") {
    return value === 0 ? "" : named(field.enum, value);
  }
  return field.fieldKind === "scalar" && value !== undefined && !(value instanceof Uint8Array) ? String(value) : "";
}

function priced({ size, price }: { readonly size: bigint; readonly price: string }): string[] {
  return [String(size), ...(price === "" ? [] : ["@", price])];
}

function triggerText({ trigger, triggerDirection }: StopOrder): string {
  const direction = named(StopOrder_TriggerDirectionSchema, triggerDirection);
  return `${direction} ${trigger.case === "trailingPercentOffset" ? "trailing " : ""}${trigger.value ?? ""}`;
}

function named(desc: DescEnum, value: number): string {
  return shortName(desc, enumName(desc, value));
}
