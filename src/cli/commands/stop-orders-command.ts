import { type StopOrderEvent, StopOrderEventSchema } from "../../../gen/client/vega/events/v1/events_pb.js";
import {
  Order_TimeInForceSchema,
  Order_TypeSchema,
  SideSchema,
  StopOrder_ExpiryStrategySchema,
  StopOrder_StatusSchema,
} from "../../../gen/client/vega/vega_pb.js";
import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { readPeriod } from "../../data/listing/listing-filters.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, type OptionValues } from "../declarations.js";
import { isoTime } from "../formatting.js";
import {
  enumOption,
  type ListingType,
  listingOptions,
  maxRecords,
  printListing,
  valueName,
  WIDE_ADVICE,
} from "../listing.js";
import type { CommandContext } from "../output.js";
import { createNames, findRecords, type Names } from "../records/record-names.js";
import { stopOrderDecimals, triggerText } from "../records/record-types.js";
import { liveOption, marketsOption, partiesOption, timeOptions, wideOption } from "../shared-options.js";

const { listStopOrders } = TradingDataService.method;

const stopOrdersOptions = {
  status: enumOption("<status>", StopOrder_StatusSchema),
  expiryStrategy: enumOption("<strategy>", StopOrder_ExpiryStrategySchema),
  party: partiesOption,
  market: marketsOption,
  ...timeOptions,
  live: liveOption,
  wide: wideOption,
  ...listingOptions,
  ...clientOptions,
};

type StopOrdersOptions = OptionValues<typeof stopOrdersOptions>;

/** Defines the command `stop-orders`. */
export const addStopOrders = defineCommand(stopOrdersOptions, runStopOrders);

async function runStopOrders(
  ids: readonly string[],
  options: StopOrdersOptions,
  context: CommandContext,
): Promise<void> {
  await using client = commandClient(options, context);
  const { status, expiryStrategy, party, market, since, until, live } = options;
  const names = createNames(client, options.wide === true, context);
  const filter = {
    statuses: [...(status ?? [])],
    expiryStrategies: [...(expiryStrategy ?? [])],
    partyIds: await Promise.all((party ?? []).map(names.party)),
    marketIds: await Promise.all((market ?? []).map(names.market)),
    ...readPeriod({ since, until }),
    liveOnly: live === true,
  };
  const { signal } = context;
  const list = (limit: number | undefined) => client.records(listStopOrders, { filter }, { limit, signal });
  const named = {
    kind: "stop order",
    idOf: ({ stopOrder }: StopOrderEvent) => stopOrder?.id ?? "",
    list,
  } as const;
  async function* nodes() {
    for await (const { node } of ids.length === 0 ? list(maxRecords(options, context)) : findRecords(ids, named)) {
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
    name: "stopOrders",
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
