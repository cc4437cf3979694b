import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { createConditions, identifier } from "./conditions.js";
import { findRow } from "./find-row.js";
import { idKey, type Listing, readPage } from "./page.js";
import { type Row, readRow } from "./row.js";

const parties: Listing = {
  from: ["party"],
  key: [{ name: "created_at", type: "bigint", pattern: /^[0-8]?\d{1,18}$/ }, idKey],
};

/**
 * Implement the methods for parties. A key becomes a party with its first command that is carried out.
 *
 * @param pg the database that holds the table
 * @returns the methods of the data service that list parties and get one
 */
export function partyMethods(pg: PGlite): Pick<ServiceImpl<typeof TradingDataService>, "listParties" | "getParty"> {
  return {
    async listParties({ partyId, pagination }) {
      const { oneOf, build } = createConditions();
      oneOf("id", "text", partyId === "" ? [] : [identifier(partyId)]);
      return { parties: await readPage(pg, parties, pagination, partyOf, build()) };
    },

    async getParty({ partyId }) {
      const row = await findRow(pg, "party WHERE id = $1", [identifier(partyId)], `party ${partyId}`);
      return { party: partyOf(row) };
    },
  };
}

/**
 * Convert a row of the table of parties to its message.
 *
 * @param row the row
 * @returns the party
 */
export function partyOf(row: Row): { id: string } {
  return { id: readRow(row).text("id") };
}
