import type { DescField, DescMessage, JsonValue, Message } from "@bufbuild/protobuf";
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
  StopOrder_StatusSchema,
  type Trade,
} from "../../../gen/vega/vega_pb.js";
import { truncate } from "../../base/errors/error-text.js";
import { isBytes } from "../../base/input/assert.js";
import { type EventType, eventTypes, type Gap, type LiveEvent } from "../../index.js";
import { parseEventType } from "../../trade/live/event-types.js";
import { messageToJson } from "../../wire/json/message-json.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, flag, negatedFlag, type OptionValues, parsed, repeated, text } from "../declarations.js";
import { valueName } from "../listing.js";
import { type CommandContext, json, printable, writeOut } from "../output.js";
import { eventsOutput } from "../output-format.js";
import { parseCount } from "../parsers.js";
import { type Assets, balanceText, createAssets } from "../records/assets.js";
import { createNames, type Names } from "../records/record-names.js";
import { stopOrderDecimals, triggerText } from "../records/record-types.js";

const eventsOptions = {
  type: repeated(
    "<type>",
    "only events of this type, such as order, trade, transactionResult; may be repeated",
    parseEventType,
    { completions: () => ({ values: eventTypes }), isFilter: true },
  ),
  party: text("<id>", "only events of this party: its ID, or the start of it", { isFilter: true }),
  market: text("<market>", "only events of this market: its code, its ID, or the start of its ID", { isFilter: true }),
  lifecycle: flag("with --type order: also print canceled and expired orders, as order events"),
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

/** Defines the command `events`. */
export const addEvents = defineCommand(eventsOptions, runEvents);

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
  const names = createNames(client, options.wide === true, context);
  const partyId = party && (await names.party(party));
  const marketId = market && (await names.market(market));
  const isWide = options.wide === true;
  const id = (text: string) => (isWide || text.length <= SHORT_ID + 1 ? text : `${text.slice(0, SHORT_ID)}…`);
  const assetsFor = createAssets(client, context);
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
    if (format === "table" && marketOf(item) !== "") {
      await names.loadIfOffered(marketOf(item));
    }
    const assets = format === "table" && item.kind === "account" ? await assetsFor(item.value.asset) : NO_ASSETS;
    const shown = { names, assets, id };
    await writeOut(context, format === "table" ? eventLine(item, desc, shown) : json(eventJson(item, desc)));
    left -= 1;
    if (left <= 0) {
      break;
    }
  }
}

/** Returns whether orders are requested without one of the types that report canceled and expired ones. */
function missesEnds(types: readonly EventType[]): boolean {
  return types.includes("order") && !(types.includes("cancelledOrders") && types.includes("expiredOrders"));
}

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

const NO_ASSETS: Assets = new Map();

/** The maximum number of fields of events without a specific format, and the maximum length of each. */
const [MAX_FIELDS, MAX_CHARACTERS] = [6, 80];

interface Shown {
  readonly names: Names;
  readonly assets: Assets;
  readonly id: (text: string) => string;
}

function marketOf({ kind, value }: LiveEvent): string {
  switch (kind) {
    case "order":
    case "trade":
    case "marginLevels":
      return value.marketId;
    case "stopOrder":
      return value.stopOrder?.marketId ?? "";
    case "marketData":
      return value.market;
    default:
      return "";
  }
}

/**
 * Formats an event as a line for a person: its block, type, transaction and content. Codes are shown by name, prices
 * and sizes in the decimals of their market, balances in those of their asset.
 */
function eventLine(event: LiveEvent, desc: DescMessage, shown: Shown): string {
  const columns = [
    String(event.block).padStart(BLOCK_WIDTH),
    event.kind.padEnd(TYPE_WIDTH),
    shown.id(event.txHash).padEnd(TX_WIDTH),
    about(event, desc, shown).join(" "),
  ];
  return `${printable(columns.join("  ").trimEnd())}\n`;
}

function about(event: LiveEvent, desc: DescMessage, shown: Shown): string[] {
  switch (event.kind) {
    case "order":
      return aboutOrder(event.value, shown);
    case "trade":
      return aboutTrade(event.value, shown);
    case "stopOrder":
      return aboutStopOrder(event.value, shown);
    case "transactionResult":
      return aboutResult(event.value, shown);
    case "marketData":
    case "marginLevels":
      return aboutAny(desc, event.value, shown, shown.names.unitsOf(marketOf(event))?.decimalsOf(event.value));
    case "account": {
      const { asset } = event.value;
      const symbol = shown.assets.get(asset)?.details?.symbol;
      return aboutAny(desc, event.value, shown, { balance: balanceText(event.value, shown.assets), asset: symbol });
    }
    default:
      return aboutAny(desc, event.value, shown);
  }
}

function aboutOrder(order: Order, { names, id }: Shown): string[] {
  const { remaining = order.remaining, ...decimals } = names.unitsOf(order.marketId)?.decimalsOf(order) ?? {};
  return [
    valueName(Order_StatusSchema, order.status),
    valueName(SideSchema, order.side),
    ...priced({ ...order, ...decimals }),
    `remaining=${remaining}`,
    valueName(Order_TypeSchema, order.type),
    valueName(Order_TimeInForceSchema, order.timeInForce),
    `market=${names.code(order.marketId)}`,
    `id=${id(order.id)}`,
    `party=${id(order.partyId)}`,
  ];
}

function aboutTrade(trade: Trade, { names, id }: Shown): string[] {
  return [
    ...priced({ ...trade, ...names.unitsOf(trade.marketId)?.decimalsOf(trade) }),
    `aggressor=${valueName(SideSchema, trade.aggressor)}`,
    `market=${names.code(trade.marketId)}`,
    `buyer=${id(trade.buyer)}`,
    `seller=${id(trade.seller)}`,
    `id=${id(trade.id)}`,
  ];
}

function aboutStopOrder(event: StopOrderEvent, { names, id }: Shown): string[] {
  const { stopOrder, submission } = event;
  const decimals = stopOrderDecimals(event, names);
  return [
    ...(stopOrder === undefined
      ? []
      : [
          valueName(StopOrder_StatusSchema, stopOrder.status),
          triggerText(stopOrder, decimals?.triggerPrice ?? stopOrder.trigger.value ?? ""),
        ]),
    ...(submission === undefined
      ? []
      : [valueName(SideSchema, submission.side), ...priced({ ...submission, ...decimals })]),
    ...(stopOrder === undefined
      ? []
      : [`market=${names.code(stopOrder.marketId)}`, `id=${id(stopOrder.id)}`, `party=${id(stopOrder.partyId)}`]),
  ];
}

function aboutResult({ statusDetail, transaction, extra, partyId }: TransactionResult, { id }: Shown): string[] {
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

/** Lists the first fields that are set, without messages and lists; numbers as decimal numbers where there are some. */
function aboutAny(desc: DescMessage, value: Message, { id }: Shown, decimals: object = {}): string[] {
  return desc.fields
    .map((field) => {
      const { localName } = field;
      return { field, value: fieldText(field, Reflect.get(decimals, localName) ?? Reflect.get(value, localName)) };
    })
    .filter((each) => each.value !== "")
    .slice(0, MAX_FIELDS)
    .map(
      ({ field, value: text }) =>
        `${field.jsonName}=${/^[0-9a-f]{64}$/i.test(text) ? id(text) : truncate(text, MAX_CHARACTERS)}`,
    );
}

function fieldText(field: DescField, value: unknown): string {
  if (field.fieldKind === "enum" && typeof value === "number") {
    return value === 0 ? "" : valueName(field.enum, value);
  }
  return field.fieldKind === "scalar" && value !== undefined && !isBytes(value) ? String(value) : "";
}

function priced({ size, price }: { readonly size: bigint | string; readonly price: string }): string[] {
  return [String(size), ...(price === "" ? [] : ["@", price])];
}
