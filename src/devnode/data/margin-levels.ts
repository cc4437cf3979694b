import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { AccountType } from "../../../gen/vega/vega_pb.js";
import { accountId } from "../engine/identifiers.js";
import type { World } from "../world/world.js";
import { type Query, queryIdentifier } from "./conditions.js";
import { keyPart, sortedListing, timePart } from "./listing.js";
import type { Streams } from "./observe.js";
import { readPageOf, readPagination } from "./page.js";
import { isWanted } from "./records-listing.js";

const QUERY: Query = {
  message: "failed to get margin levels",
  inner: (cause) => (cause.startsWith("decoding") ? `scany: query multiple result rows: ${cause}` : cause),
};

/**
 * Implements the methods for margin levels (datanode/sqlstore/margin_levels.go).
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service that list and stream them
 */
export function marginMethods(
  world: World,
  streams: Streams,
): Pick<ServiceImpl<typeof TradingDataService>, "listMarginLevels" | "observeMarginLevels"> {
  return {
    async listMarginLevels({ partyId, marketId, pagination }) {
      const page = readPagination(pagination);
      const [party, market] = [queryIdentifier(partyId, QUERY), queryIdentifier(marketId, QUERY)];
      const found = [...world.marginLevels.values()].filter(
        (levels) => isWanted(party, levels.partyId) && isWanted(market, levels.marketId),
      );
      const listing = sortedListing(found, [keyPart.time, keyPart.id], ({ timestamp, partyId: owner, ...of }) => [
        timePart(timestamp),
        accountId({ owner, asset: of.asset, marketId: of.marketId, type: AccountType.MARGIN }),
      ]);
      return { marginLevels: readPageOf(listing, page, (levels) => levels, QUERY) };
    },

    async *observeMarginLevels({ partyId, marketId }, { signal }) {
      const blocks = streams.watch({
        subject: "marginLevels",
        signal,
        select: (happenings) =>
          happenings.flatMap(({ event }) =>
            event.case === "marginLevels" &&
            isWanted(partyId, event.value.partyId) &&
            isWanted(marketId, event.value.marketId)
              ? [event.value]
              : [],
          ),
        message: (levels) => levels,
      });
      for await (const levels of blocks) {
        for (const marginLevels of levels) {
          yield { marginLevels };
        }
      }
    },
  };
}
