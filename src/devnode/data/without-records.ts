import { Code, ConnectError } from "@connectrpc/connect";
import { apiError, existing, invalidArgument, NO_RESOURCE } from "../api-error.js";
import { settlementAsset } from "../engine/start.js";
import type { World } from "../world/world.js";
import { canBeIdentifier, identifier, NO_IDENTIFIER, type Query, queryError, queryIdentifier } from "./conditions.js";
import { epochOf } from "./epochs.js";
import { NOTHING } from "./listing.js";
import { isSettled, marketIdentifier } from "./markets.js";
import { type DataMethods, type ListingMethod, listing, type Paginated } from "./method.js";
import { type Page, readPagination } from "./page.js";

/** The network's text for a query of one record that found none. */
const NO_ROWS = "no rows in result set";

/** What the database's library puts before the failure of a query of many records, and of one. */
const MANY = "scany: query multiple result rows: ";
const ONE = "scany: query one result row: ";

/** How a listing that has no records differs from others. */
interface WithoutRecords<Request> extends Pick<ListingMethod<Request, never, unknown>, "check" | "page"> {
  /** The identifiers of a request, which are looked at all the same. None by default. */
  readonly ids?: (request: Request) => readonly (string | undefined)[];
  /** What the database puts before the failure of the query: by default, what it does for many records. */
  readonly prefix?: string;
}

function none<Request extends Paginated, Response>(
  query: ListingMethod<Request, never, Response>["query"],
  answer: (page: Page<never>) => Response,
  { ids, prefix, ...method }: WithoutRecords<Request> = {},
) {
  return listing<Request, never, Response>({
    ...method,
    query,
    from: () => NOTHING,
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
 * Implement the methods for rewards, games, vesting and funding, of which the local node has no records.
 *
 * @returns methods of the data service, which check their requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function rewardMethods(): DataMethods {
  const party = (partyId: string) => identifier(partyId, "invalid party id", "invalid party id");
  return {
    listRewards: none({ message: "failed to get rewards" }, (rewards) => ({ rewards }), {
      ids: ({ partyId, assetId, teamId, gameId }) => [partyId, assetId, teamId, gameId],
      prefix: `querying rewards: ${MANY}`,
    }),
    async listRewardSummaries({ partyId, assetId }) {
      checkIdentifiers({ message: "failed to get summary" }, [partyId, assetId], `querying rewards: ${MANY}`);
      return { summaries: [] };
    },
    listEpochRewardSummaries: listing({
      query: { message: "failed to get summary" },
      from: () => NOTHING,
      where({ filter }, query) {
        checkIdentifiers(query, filter?.assetIds ?? [], "could not decode asset ID: ");
        checkIdentifiers(query, filter?.marketIds ?? [], "could not decode market ID: ");
        return () => true;
      },
      answer: (summaries) => ({ summaries }),
    }),
    listGames: none(GAMES, (games) => ({ games }), {
      page({ pagination }) {
        const page = readPagination(pagination);
        if (page.backwards) {
          throw queryError(GAMES, "backward pagination is not currently supported");
        }
        return page;
      },
      ids: ({ gameId, teamId, partyId }) => [gameId, teamId, partyId],
    }),
    listGamePartyScores: none({ message: "" }, (partyScores) => ({ partyScores })),
    listGameTeamScores: none({ message: "" }, (teamScores) => ({ teamScores })),
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
    listFundingPeriods: none({ message: "failed to get funding periods" }, (fundingPeriods) => ({ fundingPeriods }), {
      check: ({ marketId }) => marketIdentifier(marketId),
    }),
    listFundingPeriodDataPoints: none(
      { message: "failed to get funding period data points" },
      (fundingPeriodDataPoints) => ({ fundingPeriodDataPoints }),
      {
        check: ({ marketId }) => marketIdentifier(marketId),
      },
    ),
    listFundingPayments: none({ message: "" }, (fundingPayments) => ({ fundingPayments }), {
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
 * Implement the methods for fees, discounts and the programs that give them, of which the local node has no records.
 *
 * @param world how things stand
 * @returns methods of the data service, which check their requests as deployed nodes do (datanode/api/trading_data_v2.go)
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
      // The network words it as for the discounts.
      throw apiError(Code.Internal, "failed to get current volume discount program", NO_ROWS);
    },
    getVolumeDiscountStats: none({ message: "failed to get volume discount stats" }, (stats) => ({ stats })),
    getVolumeRebateStats: none({ message: "failed to get volume rebate stats" }, (stats) => ({ stats })),
    async getFeesStats({ marketId, assetId, partyId, epochSeq, epochFrom, epochTo }) {
      if (marketId === undefined && assetId === undefined) {
        throw apiError(Code.Internal, "marketID or assetID must be provided");
      }
      const query: Query = { message: "failed to get current fees stats" };
      if (marketId !== undefined && assetId !== undefined) {
        throw queryError(query, "only a marketID or assetID should be provided");
      }
      checkIdentifiers(query, [marketId, assetId]);
      // Each epoch that ended has statistics of each open market, and no party is in them.
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
      // This method's errors come as they are.
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
    listPaidLiquidityFees: none(
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
 * @returns methods of the data service, which check their requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function statisticsMethods(): DataMethods {
  const rows = (message: string): Query => ({
    message,
    inner: (cause) => (cause.startsWith("decoding") ? `${MANY}${cause}` : cause),
  });
  return {
    getReferralSetStats: none(rows("failed to get referral set stats"), (stats) => ({ stats }), {
      ids: ({ referralSetId }) => [referralSetId],
      prefix: "",
    }),
    listTeamsStatistics: none(rows("failed to list team statistics"), (statistics) => ({ statistics }), {
      ids: ({ teamId }) => [teamId],
      prefix: "",
    }),
    listTeamMembersStatistics: none(rows("failed to list team referees"), (statistics) => ({ statistics }), {
      ids: ({ teamId, partyId }) => [teamId, partyId],
      prefix: "",
    }),
  };
}

/**
 * Implement the methods for what validators and bridges sign, of which the local node has no records.
 *
 * @param world how things stand
 * @returns methods of the data service, which check their requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function signatureMethods(world: World): DataMethods {
  const signers = `failed to retrieve multisig signer events: ${MANY}`;
  return {
    async getERC20ListAssetBundle({ assetId }) {
      const id = identifier(assetId, "missing asset ID", "invalid asset ID");
      existing(world.assets.get(id), "failed to get asset for ID");
      // A deployed node ends here for built-in assets; no asset of the local node has signatures.
      throw apiError(Code.NotFound, "failed to get notary for resource ID", NO_RESOURCE);
    },
    async getERC20SetAssetLimitsBundle({ proposalId }) {
      const id = identifier(proposalId, "proposal id is a required parameter", "invalid proposal id");
      const { terms, batchTerms } = existing(world.records.proposal.latest.get(id), "failed to get proposal").value;
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
    listERC20MultiSigSignerAddedBundles: none(
      { message: "failed to get added multisig events" },
      (bundles) => ({ bundles }),
      {
        ids: ({ nodeId }) => [nodeId],
        prefix: signers,
      },
    ),
    listERC20MultiSigSignerRemovedBundles: none(
      { message: "failed to get removed multisig events" },
      (bundles) => ({ bundles }),
      {
        ids: ({ nodeId }) => [nodeId],
        prefix: signers,
      },
    ),
    listKeyRotations: none(
      ({ nodeId }) => rotationsOf(nodeId),
      (rotations) => ({ rotations }),
      {
        ids: ({ nodeId }) => [nodeId],
      },
    ),
    listEthereumKeyRotations: none(
      ({ nodeId = "" }) => ({
        message: "failed to get ethereum key rotations for node",
        inner: (cause) => `nodeID: ${nodeId}: ${cause}`,
      }),
      (keyRotations) => ({ keyRotations }),
      {
        ids: ({ nodeId }) => [nodeId],
      },
    ),
    listNodeSignatures: none(
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
    listProtocolUpgradeProposals: none(
      { message: "failed to list protocol upgrade proposals" },
      (protocolUpgradeProposals) => ({ protocolUpgradeProposals }),
    ),
  };
}
