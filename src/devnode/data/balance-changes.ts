import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type {
  AggregatedBalanceSchema,
  DateRange,
  TradingDataService,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Account } from "../../../gen/vega/vega_pb.js";
import { invalidArgument } from "../api-error.js";
import type { Timed } from "../world/timeline.js";
import type { World } from "../world/world.js";
import { identifiers, oneOf, type Query, queryIdentifier, within } from "./conditions.js";
import { timelineListing } from "./listing.js";
import type { Streams } from "./observe.js";
import { readPageOf, readPagination } from "./page.js";

/** Nanoseconds. */
const YEAR = 365n * 86_400_000_000_000n;

/** The first time that a range of dates may have (datanode/entities/date_range.go), in Unix nanoseconds. */
const MINIMUM_DATE = BigInt(Date.parse("2020-01-01T00:00:00Z")) * 1_000_000n;

const QUERY: Query = {
  message: "failed to get balances",
  inner: (cause) => (cause.startsWith("decoding") ? `querying balances: ${cause}` : cause),
};

/**
 * Implements the methods for changes of balances and movements between accounts (datanode/sqlstore/balances.go).
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service that list balances and stream movements
 */
export function balanceChangeMethods(
  world: World,
  streams: Streams,
): Pick<ServiceImpl<typeof TradingDataService>, "listBalanceChanges" | "observeLedgerMovements"> {
  return {
    async listBalanceChanges({ filter, dateRange, pagination }) {
      const { assetId = "", partyIds = [], marketIds = [], accountTypes = [] } = filter ?? {};
      const isOnMarket = identifiers(marketIds, "market");
      const isOfParty = identifiers(partyIds, "party");
      const page = readPagination(pagination);
      checkRange(dateRange, page.cursor === undefined, world.block.time);
      const isOfAsset = oneOf(assetId === "" ? [] : [queryIdentifier(assetId, QUERY)]);
      const isOfType = oneOf(accountTypes);
      const isWithin = within(dateRange);
      const listing = timelineListing(
        world.balances,
        ({ time, value: { asset, owner, marketId, type } }) =>
          isWithin(time) && isOfAsset(asset) && isOfParty(owner) && isOnMarket(marketId) && isOfType(type),
      );
      return { balances: readPageOf(listing, page, changeOf, QUERY) };
    },

    async *observeLedgerMovements(_, { signal }) {
      const blocks = streams.watch({
        subject: "ledgerMovements",
        signal,
        select: (happenings) =>
          happenings.flatMap(({ event }) => (event.case === "ledgerMovements" ? event.value.ledgerMovements : [])),
        message: (movements) => movements,
      });
      for await (const movements of blocks) {
        for (const ledgerMovement of movements) {
          yield { ledgerMovement };
        }
      }
    },
  };
}

/** Checks a range of at most a year. A cursor makes it dispensable. An end that is not set is the time of the last block. */
function checkRange(range: DateRange | undefined, isRequired: boolean, now: bigint): void {
  const { startTimestamp: start, endTimestamp: end } = range ?? {};
  const fail = (reason: string) => invalidArgument("invalid date range", reason);
  if (start === undefined && end === undefined) {
    if (isRequired) {
      throw fail("date range is required");
    }
    return;
  }
  if ((start ?? MINIMUM_DATE) < MINIMUM_DATE || (end ?? MINIMUM_DATE) < MINIMUM_DATE) {
    throw fail("date range start must be after 2020-01-01");
  }
  if (start !== undefined && end !== undefined && start > end) {
    throw fail("date range start must be before end");
  }
  if ((end ?? now) - (start ?? MINIMUM_DATE) > YEAR) {
    throw fail("date range is too long");
  }
}

function changeOf({ time, value }: Timed<Account>): MessageInitShape<typeof AggregatedBalanceSchema> {
  const { balance, owner, asset, marketId, type } = value;
  return { timestamp: time, balance, partyId: owner, assetId: asset, marketId, accountType: type };
}
