import type { LiquidityProvision } from "../../../gen/vega/vega_pb.js";
import { invalidArgument } from "../api-error.js";
import type { World } from "../world/world.js";
import { askedIdentifier, type Query, queryError, queryIdentifier, withFields } from "./conditions.js";
import { byBlock, NOTHING } from "./listing.js";
import { type DataMethods, listing, type Paginated, stream } from "./method.js";
import type { Streams } from "./observe.js";
import { withNodes } from "./page.js";

const AMMS: Query = {
  message: "failed to list AMM pools",
  inner: (cause) => `could not list AMM Pools: scany: query multiple result rows: ${cause}`,
};

/** What a request for commitments asks for. */
interface Asked extends Paginated {
  readonly marketId?: string | undefined;
  readonly partyId?: string | undefined;
  readonly reference?: string | undefined;
}

/** How the data node words that commitments cannot be listed. */
const provisionsOf = ({ marketId = "", partyId = "", reference = "" }: Asked) => ({
  message: "failed to get liquidity provision",
  inner: (cause: string) => `partyID: ${partyId}, marketID: ${marketId}, reference: ${reference}: ${cause}`,
});

const providersOf = ({ marketId = "" }: Asked): Query => ({
  message: "failed to get liquidity providers",
  inner: (cause) => `marketID: ${marketId}: ${cause}`,
});

/**
 * Implements the methods for commitments of liquidity and automated market makers that blocks brought.
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service that list them, and stream commitments
 */
export function liquidityMethods({ records }: World, streams: Streams): DataMethods {
  /** All versions of the commitments that a request asks for, as the data node lists them. */
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
      // Nobody provides liquidity on the local node: commitments stay pending.
      from: () => NOTHING,
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

function provisionFilter(asked: Asked): (provision: LiquidityProvision) => boolean {
  const { marketId = "", partyId = "", reference = "" } = asked;
  const { message, inner } = provisionsOf(asked);
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
