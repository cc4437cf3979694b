import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { CoreStateService } from "../../../gen/vega/api/v1/corestate_pb.js";
import { accountConditions } from "../data/accounts.js";
import { assetOf } from "../data/assets.js";
import { type Conditions, createConditions, identifier } from "../data/conditions.js";
import { latestMarketData } from "../data/market-data.js";
import { marketOf } from "../data/markets.js";
import { networkLimits } from "../data/network.js";
import { parameter, withoutNul } from "../data/parameters.js";
import { partyOf } from "../data/parties.js";
import { type Row, readRow } from "../data/row.js";

type StateMethods = Pick<
  ServiceImpl<typeof CoreStateService>,
  | "listAccounts"
  | "listAssets"
  | "listMarkets"
  | "listMarketsData"
  | "listNetworkLimits"
  | "listNetworkParameters"
  | "listParties"
>;

/**
 * Implement the methods that give the state of the network's engine, from the tables that the data service reads.
 * Nothing is paged.
 *
 * @param pg the database
 * @returns the methods of the state service for which the local node has data
 */
export function stateMethods(pg: PGlite): StateMethods {
  /** All rows of a table, or those that meet conditions. */
  async function all(
    table: string,
    { sql, parameters }: Conditions = createConditions().build(),
    order = "id",
  ): Promise<Row[]> {
    const where = sql.length === 0 ? "" : `WHERE ${sql.join(" AND ")}`;
    const { rows } = await pg.query<Row>(`SELECT * FROM ${table} ${where} ORDER BY ${order}`, [...parameters]);
    return rows;
  }
  const chosen = (id: string) => (id === "" ? [] : [identifier(id)]);

  return {
    async listAccounts({ party, market }) {
      const conditions = accountConditions({ partyIds: chosen(party), marketIds: chosen(market) });
      const accounts = (await all("account", conditions)).map((row) => {
        const { text } = readRow(row);
        return {
          party: text("owner"),
          market: text("market_id"),
          balance: text("balance"),
          asset: text("asset_id"),
          type: text("kind"),
        };
      });
      return { accounts };
    },

    async listAssets({ asset }) {
      const { oneOf, build } = createConditions();
      oneOf("id", "text", chosen(asset));
      return { assets: (await all("asset", build())).map(assetOf) };
    },

    async listMarkets({ market }) {
      // The engine forgets markets that are settled.
      const { identifiers, add, build } = createConditions();
      identifiers("id", chosen(market));
      add((state) => `state <> ${state}`, "STATE_SETTLED");
      return { markets: (await all("market", build())).map(marketOf) };
    },

    async listMarketsData({ market }) {
      return { marketsData: await latestMarketData(pg, chosen(market)) };
    },

    async listNetworkLimits() {
      return { networkLimits: await networkLimits(pg) };
    },

    async listNetworkParameters({ networkParameterKey: key }) {
      const { oneOf, build } = createConditions();
      oneOf("key", "text", key === "" ? [] : [withoutNul(key)]);
      return { networkParameters: (await all("network_parameter", build(), "key")).map(parameter) };
    },

    async listParties() {
      return { parties: (await all("party")).map(partyOf) };
    },
  };
}
