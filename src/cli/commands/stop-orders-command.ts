import type { StopOrderEvent } from "../../../gen/client/vega/events/v1/events_pb.js";
import { StopOrder_ExpiryStrategySchema, StopOrder_StatusSchema } from "../../../gen/client/vega/vega_pb.js";
import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { readPeriod } from "../../data/listing/listing-filters.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, type OptionValues } from "../declarations.js";
import { enumOption, listingOptions, maxRecords, printListing, WIDE_ADVICE } from "../listing.js";
import type { CommandContext } from "../output.js";
import { createNames, findRecords } from "../records/record-names.js";
import { stopOrdersType } from "../records/record-types.js";
import { liveOption, marketsOption, partiesOption, rawOption, timeOptions, wideOption } from "../shared-options.js";

const { listStopOrders } = TradingDataService.method;

const stopOrdersOptions = {
  status: enumOption("<status>", StopOrder_StatusSchema),
  expiryStrategy: enumOption("<strategy>", StopOrder_ExpiryStrategySchema),
  party: partiesOption,
  market: marketsOption,
  ...timeOptions,
  live: liveOption,
  raw: rawOption,
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
  const names = createNames(client, options, context);
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
    get: async (orderId: string) =>
      (await client.service(TradingDataService).getStopOrder({ orderId }, { signal })).order,
  } as const;
  async function* nodes() {
    for await (const { node } of ids.length === 0 ? list(maxRecords(options, context)) : findRecords(ids, named)) {
      if (node.stopOrder !== undefined) {
        await names.load({ markets: [node.stopOrder.marketId] });
      }
      yield node;
    }
  }
  await printListing(nodes(), { ...stopOrdersType(names), advice: WIDE_ADVICE }, options, context);
}
