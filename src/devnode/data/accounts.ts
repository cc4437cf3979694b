import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type {
  AccountBalanceSchema,
  AccountFilter,
  TradingDataService,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Account } from "../../../gen/vega/vega_pb.js";
import type { World } from "../world/world.js";
import { identifiers, oneOf, type Query, queryIdentifier } from "./conditions.js";
import { keyPart, sortedListing } from "./listing.js";
import { type Streams, snapshotPages } from "./observe.js";
import { readPageOf, readPagination } from "./page.js";

const QUERY: Query = {
  message: "failed to get accounts",
  inner: (cause) => `querying account balances: ${cause}`,
};

/** How the data node words that the first messages of a stream of accounts cannot be made. */
const snapshotQuery = (prefix = ""): Query => ({
  message: "failed to send accounts snapshot",
  inner: (cause) => `fetching account balance initial image: querying account balances: ${prefix}${cause}`,
});

/**
 * Implement the methods for accounts.
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service that list and stream accounts
 */
export function accountMethods(
  world: World,
  streams: Streams,
): Pick<ServiceImpl<typeof TradingDataService>, "listAccounts" | "observeAccounts"> {
  return {
    async listAccounts({ filter, pagination }) {
      const request = readPagination(pagination);
      const found = filteredAccounts(world, filter ?? {});
      const listing = sortedListing(found, [keyPart.id], ({ id }) => [id]);
      return { accounts: readPageOf(listing, request, balanceOf, QUERY) };
    },

    async *observeAccounts({ marketId, partyId, asset, type }, { signal }) {
      const filter = {
        assetId: queryIdentifier(asset, snapshotQuery()),
        partyIds: partyId === "" ? [] : [queryIdentifier(partyId, snapshotQuery("could not decode party ID: "))],
        marketIds: marketId === "" ? [] : [queryIdentifier(marketId, snapshotQuery("could not decode market ID: "))],
        accountTypes: type === 0 ? [] : [type],
      };
      const matches = accountFilter(filter);
      yield* streams.watch({
        subject: "account",
        signal,
        snapshot: () =>
          snapshotPages(filteredAccounts(world, filter)).map(({ records, lastPage }) => ({
            response: { case: "snapshot" as const, value: { accounts: records.map(balanceOf), lastPage } },
          })),
        select: (happenings) =>
          happenings.flatMap(({ event }) => (event.case === "account" && matches(event.value) ? [event.value] : [])),
        message: (accounts) => ({
          response: { case: "updates" as const, value: { accounts: accounts.map(balanceOf) } },
        }),
      });
    },
  };
}

function filteredAccounts(world: World, filter: Partial<AccountFilter>): Account[] {
  return [...world.accounts.values()].filter(accountFilter(filter));
}

function accountFilter(filter: Partial<AccountFilter>): (account: Account) => boolean {
  const { assetId = "", partyIds = [], marketIds = [], accountTypes = [] } = filter;
  const isOfAsset = oneOf(assetId === "" ? [] : [queryIdentifier(assetId, QUERY)]);
  const isOfParty = identifiers(partyIds, "party");
  const isOnMarket = identifiers(marketIds, "market");
  const isOfType = oneOf(accountTypes);
  return ({ asset, owner, marketId, type }) =>
    isOfAsset(asset) && isOfParty(owner) && isOnMarket(marketId) && isOfType(type);
}

function balanceOf({ owner, balance, asset, marketId, type }: Account): MessageInitShape<typeof AccountBalanceSchema> {
  return { owner, balance, asset, marketId, type };
}
