import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import {
  type StakeLinking,
  StakeLinking_Status,
  StakeLinking_Type,
  StakeLinkingSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import { hashOf } from "../made-up/numbers.js";
import type { World } from "../world/world.js";
import { identifier } from "./conditions.js";
import { keyPart, sortedListing } from "./listing.js";
import { readPageOf, readPagination } from "./page.js";

/**
 * Implements the method for the governance tokens of a party (datanode/sqlstore/stake_linking.go).
 *
 * @param world how things stand
 * @returns the method of the data service
 */
export function stakeMethods(world: World): Pick<ServiceImpl<typeof TradingDataService>, "getStake"> {
  return {
    async getStake({ partyId, pagination }) {
      const party = identifier(partyId, "missing party id", "invalid party id");
      const page = readPagination(pagination);
      const listing = sortedListing(stakeLinkings(world, party), [keyPart.id], ({ id }) => [id]);
      return {
        currentStakeAvailable: String(world.stakes.get(party) ?? 0n),
        stakeLinkings: readPageOf(listing, page, (linking) => linking, { message: "failed to get stake linking" }),
      };
    },
  };
}

/**
 * Lists how a party came by its governance tokens: all at once, before the first block.
 *
 * @param world how things stand
 * @param party the party, 64 hex digits in lower case
 * @returns one link, or none if the party has no tokens
 */
export function stakeLinkings({ stakes, blockAt }: World, party: string): StakeLinking[] {
  const amount = stakes.get(party);
  const time = blockAt(1n)?.time ?? 0n;
  const linking = {
    ...{ id: hashOf(`stake:${party}`), party, amount: String(amount), ts: time, finalizedAt: time },
    ...{ type: StakeLinking_Type.LINK, status: StakeLinking_Status.ACCEPTED },
    ...{ txHash: `0x${hashOf(`stake:${party}:ethereum`)}`, ethereumAddress: `0x${hashOf(party).slice(0, 40)}` },
  };
  return amount === undefined ? [] : [create(StakeLinkingSchema, linking)];
}
