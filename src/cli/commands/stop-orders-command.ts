import type { DescField } from "@bufbuild/protobuf";
import { StopOrderEventSchema } from "../../../gen/client/vega/events/v1/events_pb.js";
import {
  Order_TimeInForceSchema,
  Order_TypeSchema,
  SideSchema,
  StopOrder_ExpiryStrategySchema,
  StopOrder_StatusSchema,
} from "../../../gen/client/vega/vega_pb.js";
import type { Client } from "../../index.js";
import { messageToJson } from "../../wire/json/message-json.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, flag, type OptionValues, parsed } from "../declarations.js";
import { isoTime } from "../formatting.js";
import {
  enumOption,
  type ListingType,
  leaves,
  listingOptions,
  marketFilter,
  maxRecords,
  partyFilter,
  pathText,
  printListing,
  shortName,
  textAt,
  valueName,
  WIDE_ADVICE,
  wideOption,
} from "../listing.js";
import { type CommandContext, printable } from "../output.js";
import { printReport, resultFormat, resultOutput } from "../output-format.js";
import { parseTime } from "../parsers.js";
import { createNames, findId, MAX_NAMED, type Names } from "../records/record-names.js";
import { stopOrderDecimals, triggerText } from "../records/record-types.js";
import { recordLines } from "../table.js";

const stopOrdersOptions = {
  status: enumOption("<status>", StopOrder_StatusSchema),
  expiryStrategy: enumOption("<strategy>", StopOrder_ExpiryStrategySchema),
  party: partyFilter,
  market: marketFilter,
  from: parsed("<time>", "start of the date range: ISO 8601 or Unix nanoseconds", parseTime),
  to: parsed("<time>", "end of the date range (exclusive)", parseTime),
  live: flag("only live stop orders"),
  wide: wideOption,
  ...listingOptions,
  ...clientOptions,
};

type StopOrdersOptions = OptionValues<typeof stopOrdersOptions>;

/** Defines the command `stop-orders`. */
export const addStopOrders = defineCommand(stopOrdersOptions, runStopOrders);

async function runStopOrders(options: StopOrdersOptions, context: CommandContext): Promise<void> {
  await using client = commandClient(options, context);
  const { status, expiryStrategy, party, market, from, to, live } = options;
  const names = createNames(client, options.wide === true, context);
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
      if (node.stopOrder !== undefined) {
        await names.loadIfOffered(node.stopOrder.marketId);
      }
      yield node;
    }
  }
  await printListing(nodes(), stopOrders(names), options, context);
}

function stopOrders(names: Names): ListingType<typeof StopOrderEventSchema> {
  const { id } = names;
  const time = (value: bigint | undefined) => (value === undefined ? "" : isoTime(value));
  return {
    desc: StopOrderEventSchema,
    name: "orders",
    header: "id status trigger side price size type tif expires at_expiry created updated party market".split(" "),
    ranked: "id status trigger side price size market created type expires party tif at_expiry updated".split(" "),
    advice: WIDE_ADVICE,
    decimals: (event) => stopOrderDecimals(event, names),
    decimalNames: ["price", "size", "triggerPrice"],
    cells(event) {
      const { stopOrder: order, submission } = event;
      if (order === undefined) {
        return [];
      }
      const sent = {
        price: submission?.price ?? "",
        size: submission?.size ?? "",
        triggerPrice: order.trigger.value ?? "",
      };
      const { price, size, triggerPrice } = { ...sent, ...stopOrderDecimals(event, names) };
      return [
        id(order.id),
        valueName(StopOrder_StatusSchema, order.status),
        triggerText(order, String(triggerPrice)),
        submission === undefined ? "" : valueName(SideSchema, submission.side),
        String(price),
        String(size),
        submission === undefined ? "" : valueName(Order_TypeSchema, submission.type),
        submission === undefined ? "" : valueName(Order_TimeInForceSchema, submission.timeInForce),
        time(order.expiresAt),
        order.expiryStrategy === undefined ? "" : valueName(StopOrder_ExpiryStrategySchema, order.expiryStrategy),
        time(order.createdAt),
        time(order.updatedAt),
        id(order.partyId),
        names.code(order.marketId),
      ];
    },
  };
}

const stopOrderOptions = { ...resultOutput, ...clientOptions };

/** Defines the command `stop-order`, which shows all fields of a stop order that are set. */
export const addStopOrder = defineCommand(
  stopOrderOptions,
  async (id: string, options: OptionValues<typeof stopOrderOptions>, context: CommandContext) => {
    const { signal } = context;
    await using client = commandClient(options, context);
    const full = await findId(
      id,
      stopOrderIds(client, signal),
      "stop order",
      "List them with `tradewire stop-orders`.",
    );
    const event = await client.stopOrder(full, { signal });
    const order = messageToJson(StopOrderEventSchema, event);
    const names = createNames(client, true, context);
    if (event.stopOrder !== undefined) {
      await names.loadIfOffered(event.stopOrder.marketId);
    }
    const decimals = stopOrderDecimals(event, names);
    // The fields of the stop order come first, then those of the order that it submits when it triggers.
    const paths = leaves(StopOrderEventSchema).toSorted(([a], [b]) => (b?.number ?? 0) - (a?.number ?? 0));
    const numbers = new Map([
      ["submission.price", decimals?.price],
      ["submission.size", decimals?.size],
      ["stopOrder.price", decimals?.triggerPrice],
    ]);
    const rows = paths.flatMap((path) => {
      const text = textAt(order, path);
      const [name, field] = [pathText(path), path.at(-1)];
      const value = numbers.get(name) ?? readable(field, text ?? "");
      return text === null ? [] : [[name, printable(value)] as const];
    });
    const report = {
      object: () => ({ ...order, ...(decimals && { decimals }) }),
      table: () => void context.out.write(recordLines(rows)),
    };
    await printReport(report, resultFormat(options), context);
  },
);

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
