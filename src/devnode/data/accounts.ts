import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type {
  AccountBalanceSchema,
  AccountFilter,
  TradingDataService,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Account } from "../../../gen/vega/vega_pb.js";
import type { World } from "../world/world.js";
import { identifier, identifiers, oneOf } from "./conditions.js";
import { keyPart, sortedListing } from "./listing.js";
import { type Streams, snapshotPages } from "./observe.js";
import { readPage } from "./page.js";

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
      const found = filteredAccounts(world, filter ?? {});
      const listing = sortedListing(found, [keyPart.id], ({ id }) => [id]);
      return { accounts: readPage(listing, pagination, balanceOf) };
    },

    async *observeAccounts({ marketId, partyId, asset, type }, { signal }) {
      const filter = {
        assetId: asset,
        partyIds: partyId === "" ? [] : [partyId],
        marketIds: marketId === "" ? [] : [marketId],
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

/**
 * Find the accounts that a filter lets through.
 *
 * @param world how things stand
 * @param filter the filter
 * @returns the accounts
 * @throws ConnectError with `InvalidArgument` if an identifier is malformed
 */
export function filteredAccounts(world: World, filter: Partial<AccountFilter>): Account[] {
  return [...world.accounts.values()].filter(accountFilter(filter));
}

function accountFilter(filter: Partial<AccountFilter>): (account: Account) => boolean {
  const { assetId = "", partyIds = [], marketIds = [], accountTypes = [] } = filter;
  const isOfAsset = oneOf(assetId === "" ? [] : [identifier(assetId, "filter")]);
  const isOfParty = identifiers(partyIds);
  const isOnMarket = identifiers(marketIds);
  const isOfType = oneOf(accountTypes);
  return ({ asset, owner, marketId, type }) =>
    isOfAsset(asset) && isOfParty(owner) && isOnMarket(marketId) && isOfType(type);
}

function balanceOf({ owner, balance, asset, marketId, type }: Account): MessageInitShape<typeof AccountBalanceSchema> {
  return { owner, balance, asset, marketId, type };
}
