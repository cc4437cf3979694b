import type { LiquidityProvision } from "../../../gen/vega/vega_pb.js";
import { invalidArgument } from "../api-error.js";
import type { World } from "../world/world.js";
import { askedIdentifier, type Query, queryError, queryIdentifier, withFields } from "./filters.js";
import { type DataMethods, listing, type Paginated, stream } from "./method.js";
import { byBlock, EMPTY_SOURCE, withNodes } from "./pagination.js";
import type { OpenStreams } from "./streams.js";

const AMMS: Query = {
  message: "failed to list AMM pools",
  inner: (cause) => `could not list AMM Pools: scany: query multiple result rows: ${cause}`,
};

/** The filter of a request for liquidity commitments. */
interface ProvisionFilter extends Paginated {
  readonly marketId?: string | undefined;
  readonly partyId?: string | undefined;
  readonly reference?: string | undefined;
}

/** The data node's error if commitments cannot be listed. */
const provisionsOf = ({ marketId = "", partyId = "", reference = "" }: ProvisionFilter) => ({
  message: "failed to get liquidity provision",
  inner: (cause: string) => `partyID: ${partyId}, marketID: ${marketId}, reference: ${reference}: ${cause}`,
});

const providersOf = ({ marketId = "" }: ProvisionFilter): Query => ({
  message: "failed to get liquidity providers",
  inner: (cause) => `marketID: ${marketId}: ${cause}`,
});

/**
 * Implements the methods for liquidity commitments and automated market makers.
 *
 * @param world the network's current state
 * @param streams the node's open streams
 * @returns the methods of the data service that list them, and stream commitments
 */
export function liquidityMethods({ records }: World, streams: OpenStreams): DataMethods {
  // As on deployed nodes, all versions of the commitments are listed.
  const provisions = { query: provisionsOf, from: () => byBlock(records.liquidityProvision), where: provisionFilter };
  return {
    observeLiquidityProvisions: stream(streams, {
      subject: "liquidityProvision",
      records: (event) => (event.case === "liquidityProvision" ? [event.value] : []),
      where: ({ marketId, partyId }) => withFields({ marketId, partyId }),
      messages: (liquidityProvisions) => [{ liquidityProvisions: [...liquidityProvisions] }],
    }),

    listLiquidityProvisions: listing({
      ...provisions,
      answer: (liquidityProvisions) => ({ liquidityProvisions }),
    }),

    listAllLiquidityProvisions: listing({
      ...provisions,
      answer: (page) => ({ liquidityProvisions: withNodes(page, (current) => ({ current })) }),
    }),

    listLiquidityProviders: listing({
      query: providersOf,
      // The local node has no liquidity providers: commitments stay pending.
      from: () => EMPTY_SOURCE,
      where({ marketId = "", partyId = "" }, query) {
        if (marketId === "" && partyId === "") {
          throw invalidArgument("malformed request", "marketId or partyId or both must be provided");
        }
        queryIdentifier(marketId, query);
        queryIdentifier(partyId, query);
        return () => true;
      },
      answer: (liquidityProviders) => ({ liquidityProviders }),
    }),

    listAMMs: listing({
      query: AMMS,
      from: () => byBlock(records.amm),
      where: ({ id, partyId, marketId, ammPartyId, status }) =>
        withFields({
          id: askedIdentifier(id, AMMS),
          partyId: askedIdentifier(partyId, AMMS),
          marketId: askedIdentifier(marketId, AMMS),
          ammPartyId: askedIdentifier(ammPartyId, AMMS),
          status,
        }),
      answer: (amms) => ({ amms }),
    }),
  };
}

function provisionFilter(filter: ProvisionFilter): (provision: LiquidityProvision) => boolean {
  const { marketId = "", partyId = "", reference = "" } = filter;
  const { message, inner } = provisionsOf(filter);
  if (marketId === "" && partyId === "") {
    throw queryError({ message, inner }, "market or party filters are required");
  }
  const around: Query = { message, inner: (cause) => inner(`scany: query multiple result rows: ${cause}`) };
  return withFields({
    marketId: queryIdentifier(marketId, around),
    partyId: queryIdentifier(partyId, around),
    reference,
  });
}
