import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { existing } from "../api-error.js";
import type { World } from "../world/world.js";
import { identifier, within } from "./conditions.js";
import { readPageOf, readPagination } from "./page.js";
import { isWanted, recordListing } from "./records-listing.js";

const GET = "failed to get withdrawal";

/**
 * Implements the methods for withdrawals that blocks brought.
 *
 * @param world how things stand
 * @returns the methods of the data service that list withdrawals and get one
 */
export function withdrawalMethods({
  records,
}: World): Pick<ServiceImpl<typeof TradingDataService>, "getWithdrawal" | "listWithdrawals"> {
  return {
    async getWithdrawal({ id }) {
      const found = records.withdrawal.latest.get(identifier(id, "missing withdrawal ID", "invalid withdrawal ID"));
      return { withdrawal: existing(found, GET).value };
    },

    async listWithdrawals({ partyId, dateRange, pagination }) {
      const party = partyId === "" ? undefined : identifier(partyId, "invalid party id", "invalid party id");
      const isWithin = within(dateRange);
      const page = readPagination(pagination);
      const listing = recordListing(
        records.withdrawal.latest,
        (withdrawal) => isWanted(party, withdrawal.partyId) && isWithin(withdrawal.createdTimestamp),
      );
      return { withdrawals: readPageOf(listing, page, ({ value }) => value, { message: GET }) };
    },
  };
}
