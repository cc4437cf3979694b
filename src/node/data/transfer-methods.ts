import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type ListTransfersRequest,
  ListTransfersRequest_Scope,
  TransferDirection,
  type TransferNodeSchema,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Transfer } from "../../../gen/vega/events/v1/events_pb.js";
import { AccountType, EntityScope } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { apiError, NO_RESOURCE, requireFound } from "../api-error.js";
import type { World } from "../world/world.js";
import { askedIdentifier, canBeIdentifier, isWanted, NO_IDENTIFIER, type Query, queryError } from "./filters.js";
import { type DataMethods, listing } from "./method.js";
import { byBlock, readPagination, withNodes } from "./pagination.js";

const NO_QUERY: Query = { message: "" };

export function transferMethods(world: World): DataMethods {
  const { records } = world;
  const nodeOf = (transfer: Transfer): MessageInitShape<typeof TransferNodeSchema> => ({
    transfer,
    fees: [...records.transferFees.latest.values()]
      .map(({ value }) => value)
      .filter((fee) => fee.transferId === transfer.id),
  });
  return {
    listTransfers: listing({
      page({ pagination }) {
        const page = readPagination(pagination);
        // Without a pagination, a page of transfers is smaller than the pages of other listings.
        return pagination === undefined ? { ...page, size: 50 } : page;
      },
      query: ({ pubkey }) => listQuery(pubkey),
      from: () => byBlock(records.transfer),
      where: transferFilter,
      answer: (transfers) => ({ transfers: withNodes(transfers, nodeOf) }),
    }),

    async getTransfer({ transferId }) {
      if (transferId === "") {
        throw apiError(Code.Internal, "missing transfer id");
      }
      const id = plainIdentifier(transferId, NO_QUERY);
      return { transferNode: nodeOf(requireFound(records.transfer.latest.get(id), NO_RESOURCE, "").value) };
    },
  };
}

function listQuery(pubkey = ""): Query {
  const around = (cause: string) =>
    cause.startsWith("decoding") ? `could not get transfers: scany: query multiple result rows: ${cause}` : cause;
  return { message: "failed to get transfer", inner: (cause) => `pubkey: ${pubkey}: ${around(cause)}` };
}

/** Validates an identifier, for queries whose error message is only the cause, and converts it to lower case. */
function plainIdentifier(text: string, query: Query): string {
  if (!canBeIdentifier(text)) {
    throw queryError(query, NO_IDENTIFIER, Code.InvalidArgument);
  }
  return text.toLowerCase();
}

/** Returns the predicate of a request. Rewards are transfers to the reward account, and dispatched transfers. */
function transferFilter(request: ListTransfersRequest, query: Query): (transfer: Transfer) => boolean {
  const { direction, isReward = false, status, scope, fromAccountType, toAccountType, fromEpoch, toEpoch } = request;
  const party = askedIdentifier(request.pubkey, query);
  const gameId = askedIdentifier(request.gameId, query);
  const isFrom = direction === TransferDirection.TRANSFER_FROM;
  if (party !== undefined && isReward && !isFrom) {
    throw queryError(query, `invalid transfer direction for reward transfers: ${direction}`);
  }
  const isOfParty = ({ from, to }: Transfer) =>
    party === undefined || (direction !== TransferDirection.TRANSFER_TO && from === party) || (!isFrom && to === party);
  const strategyOf = ({ kind }: Transfer) => (kind.case === "recurring" ? kind.value.dispatchStrategy : undefined);
  const epochsOf = ({ kind }: Transfer) =>
    kind.case === "recurring"
      ? [kind.value.startEpoch, kind.value.endEpoch].filter((epoch) => epoch !== undefined)
      : [];
  const scopes = {
    [ListTransfersRequest_Scope.INDIVIDUAL]: EntityScope.INDIVIDUALS,
    [ListTransfersRequest_Scope.TEAM]: EntityScope.TEAMS,
  };
  return (transfer) =>
    isOfParty(transfer) &&
    isWanted(status, transfer.status) &&
    isWanted(gameId, transfer.gameId ?? "") &&
    isWanted(fromAccountType, transfer.fromAccountType) &&
    isWanted(toAccountType, transfer.toAccountType) &&
    (fromEpoch === undefined || epochsOf(transfer).some((epoch) => epoch >= fromEpoch)) &&
    (toEpoch === undefined || epochsOf(transfer).some((epoch) => epoch <= toEpoch)) &&
    (scope === undefined ||
      scope === ListTransfersRequest_Scope.UNSPECIFIED ||
      strategyOf(transfer)?.entityScope === scopes[scope]) &&
    (!isReward ||
      (transfer.kind.case === "recurring" &&
        (transfer.toAccountType === AccountType.GLOBAL_REWARD || strategyOf(transfer) !== undefined)));
}
