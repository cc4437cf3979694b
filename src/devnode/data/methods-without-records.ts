import { Code, ConnectError } from "@connectrpc/connect";
import { apiError, invalidArgument, NO_RESOURCE, requireFound } from "../api-error.js";
import { settlementAsset } from "../engine/initial-state.js";
import type { World } from "../world/world.js";
import { epochOf } from "./epochs.js";
import { canBeIdentifier, identifier, NO_IDENTIFIER, type Query, queryError, queryIdentifier } from "./filters.js";
import { isSettled, marketIdentifier } from "./market-methods.js";
import { type DataMethods, type ListingMethod, listing, type Paginated } from "./method.js";
import { EMPTY_SOURCE, type Page, readPagination } from "./pagination.js";

/** The network's text if a query of one record finds none. */
const NO_ROWS = "no rows in result set";

/** The prefixes of the database library for a failed query of many records, and of one. */
const MANY = "scany: query multiple result rows: ";
const ONE = "scany: query one result row: ";

/** The options of a listing without records. */
interface WithoutRecords<Request> extends Pick<ListingMethod<Request, never, unknown>, "check" | "page"> {
  /** Returns the identifiers of a request that are validated. None by default. */
  readonly ids?: (request: Request) => readonly (string | undefined)[];
  /** The database's prefix for a failed query; {@link MANY} by default. */
  readonly prefix?: string;
}

function emptyListing<Request extends Paginated, Response>(
  query: ListingMethod<Request, never, Response>["query"],
  answer: (page: Page<never>) => Response,
  { ids, prefix, ...method }: WithoutRecords<Request> = {},
) {
  return listing<Request, never, Response>({
    ...method,
    query,
    from: () => EMPTY_SOURCE,
    where(request, asked) {
      checkIdentifiers(asked, ids?.(request) ?? [], prefix);
      return () => true;
    },
    answer,
  });
}

const GAMES: Query = { message: "failed to list games" };

const rotationsOf = (nodeId = ""): Query =>
  nodeId === ""
    ? { message: "failed to get all key rotations" }
    : {
        message: "failed to get key rotations for node",
        inner: (cause) => `nodeID: ${nodeId}: failed to retrieve key rotations: ${cause}`,
      };

function checkIdentifiers(query: Query, ids: readonly (string | undefined)[], prefix = MANY): void {
  for (const id of ids) {
    const inner = (cause: string) => query.inner?.(`${prefix}${cause}`) ?? `${prefix}${cause}`;
    queryIdentifier(id ?? "", { ...query, inner });
  }
}

/**
 * Implements the methods for rewards, games, vesting and funding; the local node has no such records.
 *
 * @returns methods of the data service, which validate requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function rewardMethods(): DataMethods {
  const party = (partyId: string) => identifier(partyId, "invalid party id", "invalid party id");
  return {
    listRewards: emptyListing({ message: "failed to get rewards" }, (rewards) => ({ rewards }), {
      ids: ({ partyId, assetId, teamId, gameId }) => [partyId, assetId, teamId, gameId],
      prefix: `querying rewards: ${MANY}`,
    }),
    async listRewardSummaries({ partyId, assetId }) {
      checkIdentifiers({ message: "failed to get summary" }, [partyId, assetId], `querying rewards: ${MANY}`);
      return { summaries: [] };
    },
    listEpochRewardSummaries: listing({
      query: { message: "failed to get summary" },
      from: () => EMPTY_SOURCE,
      where({ filter }, query) {
        checkIdentifiers(query, filter?.assetIds ?? [], "could not decode asset ID: ");
        checkIdentifiers(query, filter?.marketIds ?? [], "could not decode market ID: ");
        return () => true;
      },
      answer: (summaries) => ({ summaries }),
    }),
    listGames: emptyListing(GAMES, (games) => ({ games }), {
      page({ pagination }) {
        const page = readPagination(pagination);
        if (page.backwards) {
          throw queryError(GAMES, "backward pagination is not currently supported");
        }
        return page;
      },
      ids: ({ gameId, teamId, partyId }) => [gameId, teamId, partyId],
    }),
    listGamePartyScores: emptyListing({ message: "" }, (partyScores) => ({ partyScores })),
    listGameTeamScores: emptyListing({ message: "" }, (teamScores) => ({ teamScores })),
    async getVestingBalancesSummary({ partyId, assetId }) {
      const id = party(partyId);
      if (assetId !== undefined && assetId !== "") {
        identifier(assetId, "invalid asset ID", "invalid asset ID");
      }
      return { partyId: id };
    },
    async getPartyVestingStats({ partyId }) {
      party(partyId);
      throw apiError(Code.NotFound, NO_RESOURCE);
    },
    async getPartyActivityStreak({ partyId }) {
      party(partyId);
      throw apiError(Code.NotFound, NO_RESOURCE);
    },
    async getTimeWeightedNotionalPosition({ assetId, partyId, gameId }) {
      const query = { message: "failed to get time weighted notional position" };
      if (partyId === "") {
        throw invalidArgument("invalid party id");
      }
      checkIdentifiers(query, [assetId, partyId, gameId], ONE);
      throw queryError(query, NO_ROWS);
    },
    listFundingPeriods: emptyListing(
      { message: "failed to get funding periods" },
      (fundingPeriods) => ({ fundingPeriods }),
      {
        check: ({ marketId }) => marketIdentifier(marketId),
      },
    ),
    listFundingPeriodDataPoints: emptyListing(
      { message: "failed to get funding period data points" },
      (fundingPeriodDataPoints) => ({ fundingPeriodDataPoints }),
      {
        check: ({ marketId }) => marketIdentifier(marketId),
      },
    ),
    listFundingPayments: emptyListing({ message: "" }, (fundingPayments) => ({ fundingPayments }), {
      check({ partyId, marketId }) {
        party(partyId);
        if (marketId !== undefined && marketId !== "") {
          marketIdentifier(marketId);
        }
      },
    }),
  };
}

/**
 * Implements the methods for fees, discounts and their programs; the local node has no such records.
 *
 * @param world the network's current state
 * @returns methods of the data service, which validate requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function programMethods(world: World): DataMethods {
  return {
    async getCurrentReferralProgram() {
      throw apiError(Code.Internal, "failed to get current referral program", NO_ROWS);
    },
    async getCurrentVolumeDiscountProgram() {
      throw apiError(Code.Internal, "failed to get current volume discount program", NO_ROWS);
    },
    async getCurrentVolumeRebateProgram() {
      // The network uses the text of the discount program here.
      throw apiError(Code.Internal, "failed to get current volume discount program", NO_ROWS);
    },
    getVolumeDiscountStats: emptyListing({ message: "failed to get volume discount stats" }, (stats) => ({ stats })),
    getVolumeRebateStats: emptyListing({ message: "failed to get volume rebate stats" }, (stats) => ({ stats })),
    async getFeesStats({ marketId, assetId, partyId, epochSeq, epochFrom, epochTo }) {
      if (marketId === undefined && assetId === undefined) {
        throw apiError(Code.Internal, "marketID or assetID must be provided");
      }
      const query: Query = { message: "failed to get current fees stats" };
      if (marketId !== undefined && assetId !== undefined) {
        throw queryError(query, "only a marketID or assetID should be provided");
      }
      checkIdentifiers(query, [marketId, assetId]);
      // Each completed epoch has statistics of each open market, without parties.
      const last = epochOf(world.block.height) - 1n;
      const seq = epochSeq ?? epochTo ?? last;
      const isOfEpoch = seq >= (epochFrom ?? 0n) && seq >= 0n && seq <= last;
      const market = [...world.markets.values()].find(
        (each) =>
          !isSettled(each) && [each.id, settlementAsset(each)].includes((marketId ?? assetId ?? "").toLowerCase()),
      );
      if (market === undefined || !isOfEpoch || partyId !== undefined) {
        throw queryError(query, "no  fees stats found");
      }
      return { feesStats: { market: market.id, asset: settlementAsset(market), epochSeq: seq } };
    },
    async getFeesStatsForParty({ partyId, assetId }) {
      checkIdentifiers({ message: "failed to get current fees stats for party" }, [partyId, assetId]);
      return { feesStatsForParty: [] };
    },
    async getPartyDiscountStats({ marketIds }) {
      // The network does not wrap the errors of this method.
      if (marketIds.length === 0) {
        throw new ConnectError("required to provide at least one market ID", Code.Unknown);
      }
      for (const id of marketIds) {
        if (!canBeIdentifier(id)) {
          throw new ConnectError(NO_IDENTIFIER, Code.Unknown);
        }
        if (!world.markets.has(id.toLowerCase())) {
          throw new ConnectError(NO_RESOURCE, Code.Unknown);
        }
      }
      return {};
    },
    listPaidLiquidityFees: emptyListing(
      { message: "failed to list paid liquidity fees" },
      (paidLiquidityFees) => ({ paidLiquidityFees }),
      {
        ids: ({ marketId, assetId }) => [marketId, assetId],
      },
    ),
  };
}

/**
 * Implements the methods for statistics of referral sets and teams, which the local node does not compute.
 *
 * @returns methods of the data service, which validate requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function statisticsMethods(): DataMethods {
  const rows = (message: string): Query => ({
    message,
    inner: (cause) => (cause.startsWith("decoding") ? `${MANY}${cause}` : cause),
  });
  return {
    getReferralSetStats: emptyListing(rows("failed to get referral set stats"), (stats) => ({ stats }), {
      ids: ({ referralSetId }) => [referralSetId],
      prefix: "",
    }),
    listTeamsStatistics: emptyListing(rows("failed to list team statistics"), (statistics) => ({ statistics }), {
      ids: ({ teamId }) => [teamId],
      prefix: "",
    }),
    listTeamMembersStatistics: emptyListing(rows("failed to list team referees"), (statistics) => ({ statistics }), {
      ids: ({ teamId, partyId }) => [teamId, partyId],
      prefix: "",
    }),
  };
}

/**
 * Implements the methods for signatures of validators and bridges; the local node has no such records.
 *
 * @param world the network's current state
 * @returns methods of the data service, which validate requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function signatureMethods(world: World): DataMethods {
  const signers = `failed to retrieve multisig signer events: ${MANY}`;
  return {
    async getERC20ListAssetBundle({ assetId }) {
      const id = identifier(assetId, "missing asset ID", "invalid asset ID");
      requireFound(world.assets.get(id), "failed to get asset for ID");
      // Deployed nodes fail here for built-in assets. No asset of the local node has signatures.
      throw apiError(Code.NotFound, "failed to get notary for resource ID", NO_RESOURCE);
    },
    async getERC20SetAssetLimitsBundle({ proposalId }) {
      const id = identifier(proposalId, "proposal id is a required parameter", "invalid proposal id");
      const { terms, batchTerms } = requireFound(world.records.proposal.latest.get(id), "failed to get proposal").value;
      if (batchTerms !== undefined) {
        throw apiError(Code.Internal, "can not get bundle for batch proposal");
      }
      if (terms?.change.case !== "updateAsset") {
        throw apiError(Code.Internal, "not an update asset proposal");
      }
      throw apiError(Code.NotFound, "failed to get notary for resource ID", NO_RESOURCE);
    },
    async getERC20WithdrawalApproval({ withdrawalId }) {
      identifier(withdrawalId, "missing withdrawal ID", "invalid withdrawal ID");
      throw apiError(Code.NotFound, "failed to get withdrawal", NO_RESOURCE);
    },
    getProtocolUpgradeStatus: () => ({ ready: false }),
    listERC20MultiSigSignerAddedBundles: emptyListing(
      { message: "failed to get added multisig events" },
      (bundles) => ({ bundles }),
      {
        ids: ({ nodeId }) => [nodeId],
        prefix: signers,
      },
    ),
    listERC20MultiSigSignerRemovedBundles: emptyListing(
      { message: "failed to get removed multisig events" },
      (bundles) => ({ bundles }),
      {
        ids: ({ nodeId }) => [nodeId],
        prefix: signers,
      },
    ),
    listKeyRotations: emptyListing(
      ({ nodeId }) => rotationsOf(nodeId),
      (rotations) => ({ rotations }),
      {
        ids: ({ nodeId }) => [nodeId],
      },
    ),
    listEthereumKeyRotations: emptyListing(
      ({ nodeId = "" }) => ({
        message: "failed to get ethereum key rotations for node",
        inner: (cause) => `nodeID: ${nodeId}: ${cause}`,
      }),
      (keyRotations) => ({ keyRotations }),
      {
        ids: ({ nodeId }) => [nodeId],
      },
    ),
    listNodeSignatures: emptyListing(
      ({ id }) => ({
        message: "failed to get notary for resource ID",
        inner: (cause) => `resourceID: ${id}: ${cause}`,
      }),
      (signatures) => ({ signatures }),
      {
        check({ id }) {
          if (id === "") {
            throw invalidArgument("missing resource ID");
          }
        },
        ids: ({ id }) => [id],
        prefix: "",
      },
    ),
    listProtocolUpgradeProposals: emptyListing(
      { message: "failed to list protocol upgrade proposals" },
      (protocolUpgradeProposals) => ({ protocolUpgradeProposals }),
    ),
  };
}
