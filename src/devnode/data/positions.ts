import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { type PositionSchema, PositionStatusSchema } from "../../../gen/vega/vega_pb.js";
import { type Conditions, createConditions, identifier } from "./conditions.js";
import { readSnapshot, type Watch } from "./observe.js";
import { bytesKey, type Listing, readPage } from "./page.js";
import { type Row, readRow } from "./row.js";

const positions: Listing = {
  from: ["position"],
  key: [bytesKey("party_id"), bytesKey("market_id")],
};

/**
 * Implement the methods for positions.
 *
 * @param pg the database that holds the table
 * @param watch keeps streams open
 * @returns the methods of the data service that list and stream positions
 */
export function positionMethods(
  pg: PGlite,
  watch: Watch,
): Pick<ServiceImpl<typeof TradingDataService>, "listPositions" | "listAllPositions" | "observePositions"> {
  return {
    async listPositions({ partyId, marketId, pagination }) {
      const conditions = positionConditions([identifier(partyId)], marketId === "" ? [] : [marketId]);
      return { positions: await readPage(pg, positions, pagination, positionOf, conditions) };
    },

    async listAllPositions({ filter, pagination }) {
      const conditions = positionConditions(filter?.partyIds, filter?.marketIds);
      return { positions: await readPage(pg, positions, pagination, positionOf, conditions) };
    },

    async *observePositions({ partyId = "", marketId = "" }, { signal }) {
      const conditions = positionConditions(partyId === "" ? [] : [partyId], marketId === "" ? [] : [marketId]);
      for await (const { rows, lastPage } of readSnapshot(pg, positions.from, conditions)) {
        yield { response: { case: "snapshot", value: { positions: rows.map(positionOf), lastPage } } };
      }
      yield* watch("position", signal); // No command that the local node carries out changes a position.
    },
  };
}

function positionConditions(partyIds: readonly string[] = [], marketIds: readonly string[] = []): Conditions {
  const { identifiers, build } = createConditions();
  identifiers("party_id", partyIds);
  identifiers("market_id", marketIds);
  return build();
}

function positionOf(row: Row): MessageInitShape<typeof PositionSchema> {
  const { text, integer, enumeration } = readRow(row);
  /** Prices and profits of positions are kept with decimals, and given without them. */
  const whole = (name: string) => text(name).replace(/\..*/, "");
  return {
    marketId: text("market_id"),
    partyId: text("party_id"),
    openVolume: integer("open_volume"),
    realisedPnl: whole("realised_pnl"),
    unrealisedPnl: whole("unrealised_pnl"),
    averageEntryPrice: whole("average_entry_price"),
    updatedAt: integer("vega_time"),
    lossSocialisationAmount: whole("loss"),
    positionStatus: enumeration(PositionStatusSchema, "distressed_status"),
  };
}
