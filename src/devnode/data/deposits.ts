import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { existing } from "../api-error.js";
import type { World } from "../world/world.js";
import { identifier, within } from "./conditions.js";
import { timelineListing } from "./listing.js";
import { readPageOf, readPagination } from "./page.js";
import { isWanted } from "./records-listing.js";

const GET = "failed to get deposit";

/**
 * Implements the methods for deposits (datanode/sqlstore/deposits.go). Those of the history are all that there are.
 *
 * @param world how things stand
 * @returns the methods of the data service that list deposits and get one
 */
export function depositMethods({
  deposits,
}: Pick<World, "deposits">): Pick<ServiceImpl<typeof TradingDataService>, "getDeposit" | "listDeposits"> {
  return {
    async getDeposit({ id }) {
      const found = deposits.find(identifier(id, "missing deposit ID", "not a valid vega id"));
      return { deposit: existing(found, GET).value };
    },

    async listDeposits({ partyId, dateRange, pagination }) {
      const page = readPagination(pagination);
      const party = partyId === "" ? undefined : identifier(partyId, "invalid party id", "invalid party id");
      const isWithin = within(dateRange);
      const listing = timelineListing(deposits, ({ time, value }) => isWanted(party, value.partyId) && isWithin(time));
      return { deposits: readPageOf(listing, page, ({ value }) => value, { message: GET }) };
    },
  };
}
