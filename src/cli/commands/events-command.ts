import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { commandNames } from "../../../gen/names/commands.js";
import { BusEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { truncate } from "../../base/errors/error-text.js";
import { unixMs } from "../../base/runtime/index.js";
import { type EventType, eventTypes, type Gap, type LiveEvent } from "../../index.js";
import { parseEventType } from "../../trade/live/event-types.js";
import { ownersIn } from "../../trade/market/field-units.js";
import { isJsonObject } from "../../wire/json/json-values.js";
import { messageToJson } from "../../wire/json/message-json.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, flag, list, negatedFlag, type OptionValues } from "../declarations.js";
import { clock } from "../formatting.js";
import { shortId } from "../listing.js";
import { type CommandContext, json, printable, widthOf, writeOut } from "../output.js";
import { eventsOutput, printsJsonLines } from "../output-format.js";
import { readableJson } from "../records/readable.js";
import { createNames, type Names } from "../records/record-names.js";
import { amountOptions, chainIdOption, marketOption, partyOption, rawOption, wideOption } from "../shared-options.js";
import { shortened } from "../table.js";

const eventsOptions = {
  type: list("<type>", "only events of this type, such as order, trade, transactionResult", parseEventType, {
    completions: () => ({ values: eventTypes }),
    isFilter: true,
  }),
  party: partyOption,
  market: marketOption,
  lifecycle: flag("with --type order: also print canceled and expired orders, as order events"),
  ...eventsOutput,
  raw: rawOption,
  wide: wideOption,
  limit: amountOptions.limit,
  reconnect: negatedFlag("exit with an error when the connection is lost"),
  chainId: chainIdOption,
  ...clientOptions,
};

type EventsCommandOptions = OptionValues<typeof eventsOptions>;

/** Defines the command `events`. */
export const addEvents = defineCommand(eventsOptions, runEvents);

async function runEvents(options: EventsCommandOptions, context: CommandContext): Promise<void> {
  const { type: types, party, market, limit = Number.POSITIVE_INFINITY, reconnect } = options;
  const lifecycle = options.lifecycle === true;
  const format = printsJsonLines(options, context) ? "jsonl" : "table";
  if (format === "table" && !lifecycle && types !== undefined && missesEnds(types)) {
    context.notes.write("tradewire: events of type order omit cancellations and expiries; add them with --lifecycle\n");
  }
  // Without events nothing else would show that the connection is lost.
  await using client = commandClient(options, context, { reported: reconnect ? "waits" : "fallbacks" });
  const { signal } = context;
  const names = createNames(client, options, context);
  const partyId = party && (await names.party(party));
  const marketId = market && (await names.market(market));
  const [isWide, isRaw] = [options.wide === true, options.raw === true];
  const width = isWide ? Number.POSITIVE_INFINITY : widthOf(context);
  /** Returns the content of an event: in decimals, which are loaded, or with `--raw` as the node sent it. */
  async function contentOf({ value }: LiveEvent, desc: DescMessage): Promise<JsonObject> {
    await names.load(ownersIn(desc, value));
    const json = isRaw ? messageToJson(desc, value) : readableJson(desc, value, names.known);
    return isJsonObject(json) ? json : {};
  }
  const shown: Shown = { names, isWide };
  let left = limit;
  for await (const item of client.events({ types, partyId, marketId, lifecycle }, { signal, reconnect })) {
    if ("gap" in item) {
      (format === "table" ? context.err : context.notes).write(`tradewire: ${gapText(item)}\n`);
      if (format === "jsonl") {
        await writeOut(context, json(gapJson(item)));
      }
      continue;
    }
    const desc = valueDesc(item);
    const value = await contentOf(item, desc);
    const line =
      format === "table" ? eventLine(item, about(item, desc, value, shown), isWide, width) : json({ ...item, value });
    await writeOut(context, line);
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

/** The maximum number of fields of events without a specific format, and the maximum length of each. */
const [MAX_FIELDS, MAX_CHARACTERS] = [6, 80];

interface Shown {
  readonly names: Names;
  readonly isWide: boolean;
}

/**
 * Formats an event as a line for a person: the time at which it arrived, its block, type, transaction and content. Codes are
 * shown by name, prices and sizes in the decimals of their market, balances in those of their asset.
 */
function eventLine(
  { block, kind, txHash }: LiveEvent,
  content: readonly string[],
  isWide: boolean,
  width: number,
): string {
  const columns = [
    clock(new Date(unixMs()).toISOString()),
    String(block).padStart(BLOCK_WIDTH),
    kind.padEnd(TYPE_WIDTH),
    shortId(txHash, isWide).padEnd(TX_WIDTH),
    content.join(" "),
  ];
  return `${shortened(printable(columns.join("  ").trimEnd()), width)}\n`;
}

function about({ kind }: LiveEvent, desc: DescMessage, value: JsonObject, shown: Shown): string[] {
  switch (kind) {
    case "order":
      return aboutOrder(value, shown);
    case "trade":
      return [...priced(value), ...named(value, ["aggressor", "marketId", "buyer", "seller", "id"], shown)];
    case "stopOrder":
      return aboutStopOrder(value, shown);
    case "transactionResult":
      return aboutResult(value, shown);
    default:
      return aboutAny(desc, value, shown);
  }
}

function aboutOrder(order: JsonObject, shown: Shown): string[] {
  const { status, side, type, timeInForce } = order;
  return [
    ...texts(status, side),
    ...priced(order),
    ...named(order, ["remaining"], shown),
    ...texts(type, timeInForce),
    ...named(order, ["marketId", "id", "partyId"], shown),
  ];
}

function aboutStopOrder({ stopOrder, submission }: JsonObject, shown: Shown): string[] {
  const [order, sent] = [isJsonObject(stopOrder) ? stopOrder : {}, isJsonObject(submission) ? submission : {}];
  const { status, triggerDirection, price, trailingPercentOffset: trailing } = order;
  return [
    ...texts(status, triggerDirection, trailing === undefined ? price : `trailing ${trailing}`, sent["side"]),
    ...priced(sent),
    ...named(order, ["marketId", "id", "partyId"], shown),
  ];
}

function aboutResult(result: JsonObject, shown: Shown): string[] {
  const { statusDetail, failure } = result;
  const command = Object.keys(result).find((name) => Object.hasOwn(commandNames, name));
  const { error, errors } = isJsonObject(failure) ? failure : {};
  const why = [...texts(error), ...(Array.isArray(errors) ? errors.map((each) => JSON.stringify(each)) : [])];
  return [
    ...texts(statusDetail, command),
    ...named(result, ["partyId"], shown),
    ...why.map((text) => truncate(JSON.stringify(text), MAX_CHARACTERS * 3)),
  ];
}

/** Lists the first fields that are set, without messages and lists. */
function aboutAny(desc: DescMessage, value: JsonObject, shown: Shown): string[] {
  const fields = desc.fields.filter((field) => field.fieldKind === "scalar" || field.fieldKind === "enum");
  return named(
    value,
    fields.map(({ jsonName }) => jsonName),
    shown,
  ).slice(0, MAX_FIELDS);
}

/** Formats members that are set as `name=value`; a market by its code, an asset by its symbol. */
function named(value: JsonObject, names: readonly string[], { names: records, isWide }: Shown): string[] {
  return names.flatMap((name) => {
    const text = value[name];
    if (text === undefined || text === null || text === "" || typeof text === "object") {
      return [];
    }
    const [as, known] =
      name === "marketId"
        ? ["market", records.code(String(text))]
        : name === "asset"
          ? ["assetSymbol", records.symbol(String(text))]
          : [name, String(text)];
    return [`${as}=${truncate(shortId(known, isWide), MAX_CHARACTERS)}`];
  });
}

function texts(...values: readonly (JsonValue | undefined)[]): string[] {
  return values.flatMap((value) => (value === undefined || value === null || value === "" ? [] : [String(value)]));
}

function priced({ size, price }: JsonObject): string[] {
  return [...texts(size), ...texts(price).flatMap((text) => ["@", text])];
}
