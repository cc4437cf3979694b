import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { Pagination, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { apiError, existing, invalidArgument, NO_RESOURCE } from "../api-error.js";
import { settlementAsset } from "../engine/start.js";
import type { World } from "../world/world.js";
import { canBeIdentifier, identifier, NO_IDENTIFIER, type Query, queryError, queryIdentifier } from "./conditions.js";
import { epochOf } from "./epochs.js";
import type { Listing } from "./listing.js";
import { isSettled, marketIdentifier } from "./markets.js";
import { type Page, readPageOf, readPagination } from "./page.js";

/** The network's text for a query of one record that found none. */
const NO_ROWS = "no rows in result set";

/** What the database's library puts before the failure of a query of many records, and of one. */
const MANY = "scany: query multiple result rows: ";
const ONE = "scany: query one result row: ";

const NOTHING: Listing<never> = { keyParts: [], read: () => [] };

/** The page of a listing that has no records. Its pagination and its identifiers are looked at all the same. */
function nothing(
  pagination: Pagination | undefined,
  query: Query,
  ids: readonly (string | undefined)[] = [],
  prefix = MANY,
): Page<never> {
  const request = readPagination(pagination);
  checkIdentifiers(query, ids, prefix);
  return readPageOf(NOTHING, request, (never) => never, query);
}

function checkIdentifiers(query: Query, ids: readonly (string | undefined)[], prefix = MANY): void {
  for (const id of ids) {
    const inner = (cause: string) => query.inner?.(`${prefix}${cause}`) ?? `${prefix}${cause}`;
    queryIdentifier(id ?? "", { ...query, inner });
  }
}

type Methods<Name extends keyof ServiceImpl<typeof TradingDataService>> = Pick<
  ServiceImpl<typeof TradingDataService>,
  Name
>;

/**
 * Implement the methods for rewards, games, vesting and funding, of which the local node has no records.
 *
 * @returns methods of the data service, which check their requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function rewardMethods(): Methods<
  | "listRewards"
  | "listRewardSummaries"
  | "listEpochRewardSummaries"
  | "listGames"
  | "listGamePartyScores"
  | "listGameTeamScores"
  | "getVestingBalancesSummary"
  | "getPartyVestingStats"
  | "getPartyActivityStreak"
  | "getTimeWeightedNotionalPosition"
  | "listFundingPeriods"
  | "listFundingPeriodDataPoints"
  | "listFundingPayments"
> {
  const party = (partyId: string) => identifier(partyId, "invalid party id", "invalid party id");
  return {
    async listRewards({ partyId, assetId, teamId, gameId, pagination }) {
      const request = readPagination(pagination);
      checkIdentifiers(
        { message: "failed to get rewards" },
        [partyId, assetId, teamId, gameId],
        `querying rewards: ${MANY}`,
      );
      return { rewards: readPageOf(NOTHING, request, (never) => never, { message: "failed to get rewards" }) };
    },
    async listRewardSummaries({ partyId, assetId }) {
      checkIdentifiers({ message: "failed to get summary" }, [partyId, assetId], `querying rewards: ${MANY}`);
      return { summaries: [] };
    },
    async listEpochRewardSummaries({ filter, pagination }) {
      const query = { message: "failed to get summary" };
      const request = readPagination(pagination);
      checkIdentifiers(query, filter?.assetIds ?? [], "could not decode asset ID: ");
      checkIdentifiers(query, filter?.marketIds ?? [], "could not decode market ID: ");
      return { summaries: readPageOf(NOTHING, request, (never) => never, query) };
    },
    async listGames({ gameId, teamId, partyId, pagination }) {
      const query = { message: "failed to list games" };
      const request = readPagination(pagination);
      if (request.backwards) {
        throw queryError(query, "backward pagination is not currently supported");
      }
      checkIdentifiers(query, [gameId, teamId, partyId]);
      return { games: readPageOf(NOTHING, request, (never) => never, query) };
    },
    listGamePartyScores: async ({ pagination }) => ({ partyScores: nothing(pagination, { message: "" }) }),
    listGameTeamScores: async ({ pagination }) => ({ teamScores: nothing(pagination, { message: "" }) }),
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
    async listFundingPeriods({ marketId, pagination }) {
      marketIdentifier(marketId);
      return { fundingPeriods: nothing(pagination, { message: "failed to get funding periods" }) };
    },
    async listFundingPeriodDataPoints({ marketId, pagination }) {
      marketIdentifier(marketId);
      return { fundingPeriodDataPoints: nothing(pagination, { message: "failed to get funding period data points" }) };
    },
    async listFundingPayments({ partyId, marketId, pagination }) {
      party(partyId);
      if (marketId !== undefined && marketId !== "") {
        marketIdentifier(marketId);
      }
      return { fundingPayments: nothing(pagination, { message: "" }) };
    },
  };
}

/**
 * Implement the methods for fees, discounts and the programs that give them, of which the local node has no records.
 *
 * @param world how things stand
 * @returns methods of the data service, which check their requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function programMethods(
  world: World,
): Methods<
  | "getCurrentReferralProgram"
  | "getCurrentVolumeDiscountProgram"
  | "getCurrentVolumeRebateProgram"
  | "getVolumeDiscountStats"
  | "getVolumeRebateStats"
  | "getFeesStats"
  | "getFeesStatsForParty"
  | "getTotalTransferFeeDiscount"
  | "getPartyDiscountStats"
  | "listPaidLiquidityFees"
> {
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
    async getVolumeDiscountStats({ pagination }) {
      return { stats: nothing(pagination, { message: "failed to get volume discount stats" }) };
    },
    async getVolumeRebateStats({ pagination }) {
      return { stats: nothing(pagination, { message: "failed to get volume rebate stats" }) };
    },
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
    async getTotalTransferFeeDiscount({ partyId, assetId }) {
      const query = { message: "failed to get current transfer fee discount" };
      if (!canBeIdentifier(partyId) || !canBeIdentifier(assetId)) {
        throw queryError(query, NO_IDENTIFIER, Code.InvalidArgument);
      }
      throw queryError(query, NO_RESOURCE, Code.NotFound);
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
    async listPaidLiquidityFees({ marketId, assetId, pagination }) {
      const query = { message: "failed to list paid liquidity fees" };
      return { paidLiquidityFees: nothing(pagination, query, [marketId, assetId]) };
    },
  };
}

/**
 * Implements the methods for statistics of referral sets and teams, which the local node does not compute.
 *
 * @returns methods of the data service, which check their requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function statisticsMethods(): Methods<
  "getReferralSetStats" | "listTeamsStatistics" | "listTeamMembersStatistics"
> {
  const rows = (message: string): Query => ({
    message,
    inner: (cause) => (cause.startsWith("decoding") ? `${MANY}${cause}` : cause),
  });
  return {
    async getReferralSetStats({ referralSetId, pagination }) {
      return { stats: nothing(pagination, rows("failed to get referral set stats"), [referralSetId], "") };
    },
    async listTeamsStatistics({ teamId, pagination }) {
      return { statistics: nothing(pagination, rows("failed to list team statistics"), [teamId], "") };
    },
    async listTeamMembersStatistics({ teamId, partyId, pagination }) {
      return { statistics: nothing(pagination, rows("failed to list team referees"), [teamId, partyId], "") };
    },
  };
}

/**
 * Implement the methods for what validators and bridges sign, of which the local node has no records.
 *
 * @param world how things stand
 * @returns methods of the data service, which check their requests as deployed nodes do (datanode/api/trading_data_v2.go)
 */
export function signatureMethods(
  world: World,
): Methods<
  | "getERC20ListAssetBundle"
  | "getERC20SetAssetLimitsBundle"
  | "getERC20WithdrawalApproval"
  | "getProtocolUpgradeStatus"
  | "listERC20MultiSigSignerAddedBundles"
  | "listERC20MultiSigSignerRemovedBundles"
  | "listEthereumKeyRotations"
  | "listKeyRotations"
  | "listNodeSignatures"
  | "listProtocolUpgradeProposals"
> {
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
    async listERC20MultiSigSignerAddedBundles({ nodeId, pagination }) {
      return { bundles: nothing(pagination, { message: "failed to get added multisig events" }, [nodeId], signers) };
    },
    async listERC20MultiSigSignerRemovedBundles({ nodeId, pagination }) {
      return { bundles: nothing(pagination, { message: "failed to get removed multisig events" }, [nodeId], signers) };
    },
    async listKeyRotations({ nodeId = "", pagination }) {
      const ofNode: Query = {
        message: "failed to get key rotations for node",
        inner: (cause) => `nodeID: ${nodeId}: failed to retrieve key rotations: ${cause}`,
      };
      const query = nodeId === "" ? { message: "failed to get all key rotations" } : ofNode;
      return { rotations: nothing(pagination, query, [nodeId]) };
    },
    async listEthereumKeyRotations({ nodeId = "", pagination }) {
      const query: Query = {
        message: "failed to get ethereum key rotations for node",
        inner: (cause) => `nodeID: ${nodeId}: ${cause}`,
      };
      return { keyRotations: nothing(pagination, query, [nodeId]) };
    },
    async listNodeSignatures({ id, pagination }) {
      if (id === "") {
        throw invalidArgument("missing resource ID");
      }
      const query: Query = {
        message: "failed to get notary for resource ID",
        inner: (cause) => `resourceID: ${id}: ${cause}`,
      };
      return { signatures: nothing(pagination, query, [id], "") };
    },
    async listProtocolUpgradeProposals({ pagination }) {
      const query = { message: "failed to list protocol upgrade proposals" };
      return { protocolUpgradeProposals: nothing(pagination, query) };
    },
  };
}
