import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { existing } from "../api-error.js";
import type { World } from "../world/world.js";
import { identifier, type Query, queryIdentifier } from "./conditions.js";
import { readPageOf, readPagination } from "./page.js";
import { recordListing } from "./records-listing.js";

const SPEC = "failed retrieve data for oracle spec";
const DATA: Query = {
  message: "failed retrieve data for oracle data",
  inner: (cause) => `scany: query multiple result rows: ${cause}`,
};

/**
 * Implements the methods for data sources of markets that governance opened, and for what they told.
 *
 * @param world how things stand
 * @returns the methods of the data service that list them and get one
 */
export function oracleMethods({
  records,
}: World): Pick<ServiceImpl<typeof TradingDataService>, "getOracleSpec" | "listOracleSpecs" | "listOracleData"> {
  return {
    async getOracleSpec({ oracleSpecId }) {
      const id = identifier(oracleSpecId, "missing oracle spec ID", "invalid oracle spec ID");
      return { oracleSpec: existing(records.oracleSpec.latest.get(id), SPEC, `OracleSpecId: ${id}`).value };
    },

    async listOracleSpecs({ pagination }) {
      const page = readPagination(pagination);
      // The data node lists them the other way round: the oldest first unless the oldest are asked for.
      const turned = { ...page, newestFirst: !page.newestFirst };
      const query: Query = { message: "failed retrieve data for oracle specs" };
      return { oracleSpecs: readPageOf(recordListing(records.oracleSpec.latest), turned, ({ value }) => value, query) };
    },

    async listOracleData({ oracleSpecId, pagination }) {
      const page = readPagination(pagination);
      const id = oracleSpecId && queryIdentifier(oracleSpecId, DATA);
      const listing = recordListing(
        records.oracleData.latest,
        ({ externalData }) => id === undefined || id === "" || (externalData?.data?.matchedSpecIds ?? []).includes(id),
      );
      return { oracleData: readPageOf(listing, page, ({ value }) => value, DATA) };
    },
  };
}
