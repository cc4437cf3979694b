import type { DescField } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { StopOrderEventSchema } from "../../../gen/client/vega/events/v1/events_pb.js";
import {
  Order_TimeInForceSchema,
  Order_TypeSchema,
  SideSchema,
  type StopOrder,
  StopOrder_ExpiryStrategySchema,
  StopOrder_StatusSchema,
  StopOrder_TriggerDirectionSchema,
} from "../../../gen/client/vega/vega_pb.js";
import type { Client } from "../../index.js";
import { messageToJson } from "../../json/message-json.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { addOptions, flag, type OptionValues, parsed, repeatedText } from "../declarations.js";
import { isoTime } from "../formatting.js";
import {
  enumOption,
  type ListingType,
  leaves,
  listingOptions,
  maxRecords,
  pathText,
  printListing,
  shortId,
  shortName,
  textAt,
  valueName,
} from "../listing.js";
import { type CommandContext, printable } from "../output.js";
import { printReport, resultFormat, resultOutput } from "../output-format.js";
import { parseTime } from "../parsers.js";
import { createNames, findId, MAX_NAMED } from "../records/record-names.js";
import { printTable } from "../table.js";

const stopOrdersOptions = {
  status: enumOption("<status>", StopOrder_StatusSchema),
  expiryStrategy: enumOption("<strategy>", StopOrder_ExpiryStrategySchema),
  party: repeatedText("<id>", "only this party: its ID, or the start of it; may be repeated"),
  market: repeatedText("<market>", "only this market: its code, its ID, or the start of its ID; may be repeated"),
  from: parsed("<time>", "start of the date range: ISO 8601 or Unix nanoseconds", parseTime),
  to: parsed("<time>", "end of the date range, which is excluded", parseTime),
  live: flag("only live stop orders"),
  wide: flag("print full IDs"),
  ...listingOptions,
  ...clientOptions,
};

type StopOrdersOptions = OptionValues<typeof stopOrdersOptions>;

/**
 * Defines the command `stop-orders`.
 *
 * @param command the command `stop-orders`, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addStopOrders(command: Command, context: CommandContext): void {
  addOptions(command, stopOrdersOptions).action((options: StopOrdersOptions) => runStopOrders(options, context));
}

async function runStopOrders(options: StopOrdersOptions, context: CommandContext): Promise<void> {
  await using client = commandClient(options, context);
  const { status, expiryStrategy, party, market, from, to, live } = options;
  const names = createNames(client, options.wide === true, context.signal);
  const filter = {
    statuses: status,
    expiryStrategies: expiryStrategy,
    partyIds: party && (await Promise.all(party.map(names.party))),
    marketIds: market && (await Promise.all(market.map(names.market))),
    dateRange: from === undefined && to === undefined ? undefined : { startTimestamp: from, endTimestamp: to },
    liveOnly: live,
  };
  const records = client.stopOrders({ filter, limit: maxRecords(options, context), signal: context.signal });
  async function* nodes() {
    for await (const { node } of records) {
      yield node;
    }
  }
  await printListing(nodes(), stopOrders(options.wide === true), options, context);
}

function stopOrders(wide: boolean): ListingType<typeof StopOrderEventSchema> {
  const id = (text: string) => shortId(text, wide);
  const time = (value: bigint | undefined) => (value === undefined ? "" : isoTime(value));
  return {
    desc: StopOrderEventSchema,
    name: "orders",
    header: "id status trigger side size price type tif expires at_expiry created updated party market".split(" "),
    ranked: "id status trigger side size price created type expires party market tif at_expiry updated".split(" "),
    advice: "Use --output json, jsonl or csv to print all, and --wide for full IDs.",
    cells({ stopOrder: order, submission }) {
      if (order === undefined) {
        return [];
      }
      return [
        id(order.id),
        valueName(StopOrder_StatusSchema, order.status),
        triggerText(order),
        submission === undefined ? "" : valueName(SideSchema, submission.side),
        submission === undefined ? "" : String(submission.size),
        submission?.price ?? "",
        submission === undefined ? "" : valueName(Order_TypeSchema, submission.type),
        submission === undefined ? "" : valueName(Order_TimeInForceSchema, submission.timeInForce),
        time(order.expiresAt),
        order.expiryStrategy === undefined ? "" : valueName(StopOrder_ExpiryStrategySchema, order.expiryStrategy),
        time(order.createdAt),
        time(order.updatedAt),
        id(order.partyId),
        id(order.marketId),
      ];
    },
  };
}

function triggerText({ trigger, triggerDirection }: StopOrder): string {
  const direction = valueName(StopOrder_TriggerDirectionSchema, triggerDirection);
  return trigger.case === "trailingPercentOffset"
    ? `${direction} trailing ${trigger.value}`
    : `${direction} ${trigger.value ?? ""}`;
}

const stopOrderOptions = { ...resultOutput, ...clientOptions };

/**
 * Defines the command `stop-order`, which shows all fields of a stop order that are set.
 *
 * @param command the command `stop-order`, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addStopOrder(command: Command, context: CommandContext): void {
  const { signal } = context;
  addOptions(command, stopOrderOptions).action(async (id: string, options: OptionValues<typeof stopOrderOptions>) => {
    await using client = commandClient(options, context);
    const full = await findId(
      id,
      stopOrderIds(client, signal),
      "stop order",
      "List them with `tradewire stop-orders`.",
    );
    const order = messageToJson(StopOrderEventSchema, await client.stopOrder(full, { signal }));
    // The fields of the stop order come first, then those of the order that it submits when it triggers.
    const paths = leaves(StopOrderEventSchema).toSorted(([a], [b]) => (b?.number ?? 0) - (a?.number ?? 0));
    const rows = paths.flatMap((path) => {
      const text = textAt(order, path);
      return text === null ? [] : [[pathText(path), printable(readable(path.at(-1), text))]];
    });
    const report = { object: () => order, table: () => printTable(["field", "value"], rows, context) };
    await printReport(report, resultFormat(options), context);
  });
}

async function* stopOrderIds(client: Client, signal: AbortSignal): AsyncGenerator<string> {
  for await (const { node } of client.stopOrders({ limit: MAX_NAMED + 1, signal })) {
    yield node.stopOrder?.id ?? "";
  }
}

/** Shortens enum values by their prefix, and formats fields whose names end in `At` as times unless they are 0. */
function readable(field: DescField | undefined, text: string): string {
  if (field?.enum !== undefined) {
    return shortName(field.enum, text);
  }
  return field?.jsonName.endsWith("At") === true && text !== "0" ? isoTime(BigInt(text)) : text;
}
