import type { DescField, DescMessage, JsonValue, Message } from "@bufbuild/protobuf";
import type { Command } from "commander";
import {
  BusEventSchema,
  type StopOrderEvent,
  type TransactionResult,
  TransactionResult_StatusSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
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
} from "../../../gen/vega/vega_pb.js";
import { truncate } from "../../errors/error-text.js";
import { type EventType, eventTypes, type Gap, type LiveEvent } from "../../index.js";
import { messageToJson } from "../../json/message-json.js";
import { parseEventType } from "../../live/event-types.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { addOptions, flag, negatedFlag, type OptionValues, parsed, repeated, text } from "../declarations.js";
import { valueName } from "../listing.js";
import { type CommandContext, json, printable, writeOut } from "../output.js";
import { eventsOutput } from "../output-format.js";
import { parseCount } from "../parsers.js";
import { createNames } from "../records/record-names.js";

const eventsOptions = {
  type: repeated(
    "<type>",
    "only events of this type, such as order, trade, transactionResult; may be repeated",
    parseEventType,
    { completions: () => ({ values: eventTypes }) },
  ),
  party: text("<id>", "only events of this party: its ID, or the start of it"),
  market: text("<market>", "only events of this market: its code, its ID, or the start of its ID"),
  lifecycle: flag("with --type order: also print cancelled and expired orders, as order events"),
  ...eventsOutput,
  output: {
    ...eventsOutput.output,
    description: "one readable line or one JSON object per event (default: table on a terminal, otherwise jsonl)",
  },
  wide: flag("print full IDs"),
  limit: parsed("<count>", "stop after this many events", parseCount),
  reconnect: negatedFlag("exit with an error when the connection is lost"),
  chainId: text("<id>", "chain that the events must belong to"),
  ...clientOptions,
};

type EventsCommandOptions = OptionValues<typeof eventsOptions>;

/**
 * Defines the command `events`.
 *
 * @param command the command `events`, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addEvents(command: Command, context: CommandContext): void {
  addOptions(command, eventsOptions).action((options: EventsCommandOptions) => runEvents(options, context));
}

async function runEvents(options: EventsCommandOptions, context: CommandContext): Promise<void> {
  const { type: types, party, market, limit = Number.POSITIVE_INFINITY, reconnect } = options;
  const lifecycle = options.lifecycle === true;
  const isTable = options.output === undefined ? context.out.isTTY === true : options.output === "table";
  const format = isTable && options.json !== true ? "table" : "jsonl";
  if (format === "table" && !lifecycle && types !== undefined && missesEnds(types)) {
    context.notes.write("tradewire: events of type order omit cancellations and expiries; add them with --lifecycle\n");
  }
  // Without events nothing else would show that the connection is lost.
  await using client = commandClient(options, context, { reported: reconnect ? "waits" : "fallbacks" });
  const { signal } = context;
  const names = createNames(client, options.wide === true, signal);
  const partyId = party && (await names.party(party));
  const marketId = market && (await names.market(market));
  let left = limit;
  for await (const item of client.events({ types, partyId, marketId, lifecycle }, { signal, reconnect })) {
    if ("gap" in item) {
      context.notes.write(`tradewire: ${gapText(item)}\n`);
      if (format === "jsonl") {
        await writeOut(context, json(gapJson(item)));
      }
      continue;
    }
    const desc = valueDesc(item);
    const text = format === "table" ? eventLine(item, desc, options.wide === true) : json(eventJson(item, desc));
    await writeOut(context, text);
    left -= 1;
    if (left <= 0) {
      break;
    }
  }
}

/** Returns whether orders are requested without one of the types that report cancelled and expired ones. */
function missesEnds(types: readonly EventType[]): boolean {
  return types.includes("order") && !(types.includes("cancelledOrders") && types.includes("expiredOrders"));
}

/** Returns the message type of an event's value. */
function valueDesc({ kind: type }: LiveEvent): DescMessage {
  const field = type === "unknown" ? undefined : BusEventSchema.field[type];
  return field?.message ?? BusEventSchema;
}

function eventJson({ value, ...event }: LiveEvent, desc: DescMessage): object {
  return { ...event, value: messageToJson(desc, value) };
}

function gapJson({ gap: { afterBlock, beforeBlock } }: Gap): JsonValue {
  return {
    gap: { afterBlock: afterBlock === undefined ? null : String(afterBlock), beforeBlock: String(beforeBlock) },
  };
}

function gapText({ gap: { afterBlock, beforeBlock } }: Gap): string {
  const after = afterBlock === undefined ? "" : `after ${afterBlock} and `;
  return `events of blocks ${after}before ${beforeBlock} may be missing: the connection was lost`;
}

/** The widths of the columns, in characters. Longer values shift the rest of their line. */
const [BLOCK_WIDTH, TYPE_WIDTH, TX_WIDTH] = [8, 17, 9];

/** The length of an identifier that is shown in short, in characters. */
const SHORT_ID = 8;

/** The maximum number of fields of events without a specific format, and the maximum length of each. */
const [MAX_FIELDS, MAX_CHARACTERS] = [6, 80];

/**
 * Formats an event as a line for a person: its block, type, transaction and content. Codes are shown by name, decimals as
 * the network sends them.
 *
 * @param event the event
 * @param desc the descriptor of its value
 * @param wide whether identifiers are shown in full
 * @returns the line, with a line feed, safe for a terminal
 */
function eventLine(event: LiveEvent, desc: DescMessage, wide: boolean): string {
  const id = (text: string) => (wide || text.length <= SHORT_ID + 1 ? text : `${text.slice(0, SHORT_ID)}…`);
  const columns = [
    String(event.block).padStart(BLOCK_WIDTH),
    event.kind.padEnd(TYPE_WIDTH),
    id(event.txHash).padEnd(TX_WIDTH),
    about(event, desc, id).join(" "),
  ];
  return `${printable(columns.join("  ").trimEnd())}\n`;
}

type ShowId = (text: string) => string;

function about(event: LiveEvent, desc: DescMessage, id: ShowId): string[] {
  switch (event.kind) {
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
    valueName(Order_StatusSchema, order.status),
    valueName(SideSchema, order.side),
    ...priced(order),
    `remaining=${order.remaining}`,
    valueName(Order_TypeSchema, order.type),
    valueName(Order_TimeInForceSchema, order.timeInForce),
    `id=${id(order.id)}`,
    `party=${id(order.partyId)}`,
    `market=${id(order.marketId)}`,
  ];
}

function aboutTrade(trade: Trade, id: ShowId): string[] {
  return [
    ...priced(trade),
    `aggressor=${valueName(SideSchema, trade.aggressor)}`,
    `buyer=${id(trade.buyer)}`,
    `seller=${id(trade.seller)}`,
    `id=${id(trade.id)}`,
    `market=${id(trade.marketId)}`,
  ];
}

function aboutStopOrder({ stopOrder, submission }: StopOrderEvent, id: ShowId): string[] {
  return [
    ...(stopOrder === undefined ? [] : [valueName(StopOrder_StatusSchema, stopOrder.status), triggerText(stopOrder)]),
    ...(submission === undefined ? [] : [valueName(SideSchema, submission.side), ...priced(submission)]),
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
    valueName(TransactionResult_StatusSchema, statusDetail),
    transaction.case ?? "",
    `party=${id(partyId)}`,
    ...why.filter((text) => text !== "").map((text) => truncate(JSON.stringify(text), MAX_CHARACTERS * 3)),
  ].filter((text) => text !== "");
}

/** Lists the first fields that are set, without messages and lists. */
function aboutAny(desc: DescMessage, value: Message, id: ShowId): string[] {
  return desc.fields
    .map((field) => ({ field, value: fieldText(field, Reflect.get(value, field.localName)) }))
    .filter(({ value }) => value !== "")
    .slice(0, MAX_FIELDS)
    .map(
      ({ field, value }) =>
        `${field.jsonName}=${/^[0-9a-f]{64}$/i.test(value) ? id(value) : truncate(value, MAX_CHARACTERS)}`,
    );
}

function fieldText(field: DescField, value: unknown): string {
  if (field.fieldKind === "enum" && typeof value === "number") {
    return value === 0 ? "" : valueName(field.enum, value);
  }
  return field.fieldKind === "scalar" && value !== undefined && !(value instanceof Uint8Array) ? String(value) : "";
}

function priced({ size, price }: { readonly size: bigint; readonly price: string }): string[] {
  return [String(size), ...(price === "" ? [] : ["@", price])];
}

function triggerText({ trigger, triggerDirection }: StopOrder): string {
  const direction = valueName(StopOrder_TriggerDirectionSchema, triggerDirection);
  return `${direction} ${trigger.case === "trailingPercentOffset" ? "trailing " : ""}${trigger.value ?? ""}`;
}
