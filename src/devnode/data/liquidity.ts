import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { LiquidityProvision } from "../../../gen/vega/vega_pb.js";
import { invalidArgument } from "../api-error.js";
import type { World } from "../world/world.js";
import { type Query, queryError, queryIdentifier } from "./conditions.js";
import { type Listing, sortedListing } from "./listing.js";
import type { Streams } from "./observe.js";
import { type PageRequest, readPageOf, readPagination } from "./page.js";
import { isWanted, recordListing } from "./records-listing.js";

const AMMS: Query = {
  message: "failed to list AMM pools",
  inner: (cause) => `could not list AMM Pools: scany: query multiple result rows: ${cause}`,
};

interface Asked {
  readonly marketId?: string | undefined;
  readonly partyId?: string | undefined;
  readonly reference?: string | undefined;
}

type LiquidityMethods = Pick<
  ServiceImpl<typeof TradingDataService>,
  | "listLiquidityProvisions"
  | "listAllLiquidityProvisions"
  | "listLiquidityProviders"
  | "listAMMs"
  | "observeLiquidityProvisions"
>;

/**
 * Implements the methods for commitments of liquidity and automated market makers that blocks brought.
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service that list them, and stream commitments
 */
export function liquidityMethods({ records }: World, streams: Streams): LiquidityMethods {
  /** All versions of the commitments that a request asks for, as the data node lists them. */
  function provisions({ marketId = "", partyId = "", reference = "" }: Asked) {
    const query: Query = {
      message: "failed to get liquidity provision",
      inner: (cause) => `partyID: ${partyId}, marketID: ${marketId}, reference: ${reference}: ${cause}`,
    };
    if (marketId === "" && partyId === "") {
      throw queryError(query, "market or party filters are required", Code.Internal);
    }
    const around = {
      ...query,
      inner: (cause: string) => query.inner?.(`scany: query multiple result rows: ${cause}`) ?? "",
    };
    const [market, party] = [queryIdentifier(marketId, around), queryIdentifier(partyId, around)];
    const listing = recordListing(
      records.liquidityProvision.latest,
      (provision) =>
        isWanted(market, provision.marketId) &&
        isWanted(party, provision.partyId) &&
        isWanted(reference, provision.reference),
    );
    return { listing, query };
  }

  return {
    async *observeLiquidityProvisions({ marketId, partyId }, { signal }) {
      yield* streams.watch({
        subject: "liquidityProvision",
        signal,
        select: (happenings) =>
          happenings.flatMap(({ event }) =>
            event.case === "liquidityProvision" &&
            isWanted(marketId, event.value.marketId) &&
            isWanted(partyId, event.value.partyId)
              ? [event.value]
              : [],
          ),
        message: (liquidityProvisions) => ({ liquidityProvisions: [...liquidityProvisions] }),
      });
    },

    async listLiquidityProvisions(request) {
      const page = readPagination(request.pagination);
      const { listing, query } = provisions(request);
      return { liquidityProvisions: readPageOf(listing, page, ({ value }) => value, query) };
    },

    async listAllLiquidityProvisions(request) {
      const page = readPagination(request.pagination);
      const { listing, query } = provisions(request);
      const nodeOf = (current: LiquidityProvision) => ({ current });
      return { liquidityProvisions: readPageOf(listing, page, ({ value }) => nodeOf(value), query) };
    },

    async listLiquidityProviders({ marketId = "", partyId = "", pagination }) {
      const page: PageRequest = readPagination(pagination);
      if (marketId === "" && partyId === "") {
        throw invalidArgument("malformed request", "marketId or partyId or both must be provided");
      }
      const query: Query = {
        message: "failed to get liquidity providers",
        inner: (cause) => `marketID: ${marketId}: ${cause}`,
      };
      queryIdentifier(marketId, query);
      queryIdentifier(partyId, query);
      // Nobody provides liquidity on the local node: commitments stay pending.
      const none: Listing<never> = sortedListing([], [], () => []);
      return { liquidityProviders: readPageOf(none, page, (provider) => provider, query) };
    },

    async listAMMs({ id, partyId, marketId, ammPartyId, status, pagination }) {
      const page = readPagination(pagination);
      const [amm, party, market, own] = [id, partyId, marketId, ammPartyId].map(
        (text) => text && queryIdentifier(text, AMMS),
      );
      const listing = recordListing(
        records.amm.latest,
        (each) =>
          isWanted(amm, each.id) &&
          isWanted(party, each.partyId) &&
          isWanted(market, each.marketId) &&
          isWanted(own, each.ammPartyId) &&
          isWanted(status, each.status),
      );
      return { amms: readPageOf(listing, page, ({ value }) => value, AMMS) };
    },
  };
}
