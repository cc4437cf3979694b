import { fromJson } from "@bufbuild/protobuf";
import { anyPack, StructSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import { Table, type TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { ARCHIVE_TYPE } from "../history/assemble.js";
import { checkRange } from "../history/segments.js";
import type { Profile } from "../schema/profile.js";
import { tableName } from "../schema/tables.js";
import { apiError, invalidArgument } from "./api-error.js";
import { nameOfArchive, writeArchive } from "./archive.js";
import type { History } from "./history/history.js";

type HistoryService = Pick<
  ServiceImpl<typeof TradingDataService>,
  "exportNetworkHistory" | "listAllNetworkHistorySegments"
>;

/**
 * Implement the methods for network history (specification, 4.1).
 *
 * @param history the history
 * @param options `profile`: `specification`, the default, or `deployed`, by which CSV files always have the schema
 *   version in their names and archives never, and no extensions are sent
 * @returns the methods of the data service that export history and list its segments
 */
export function historyService(
  history: Pick<History, "chainId" | "segments" | "read">,
  { profile = "specification" }: { readonly profile?: Profile | undefined } = {},
): HistoryService {
  const { chainId } = history;
  return {
    async *exportNetworkHistory({ fromBlock, toBlock, table: tableNumber }, { responseHeader, signal }) {
      if (tableNumber === Table.UNSPECIFIED) {
        throw apiError(Code.Internal, "no table name for network history supplied", "empty table name");
      }
      const table = tableName(tableNumber);
      if (table === undefined) {
        throw apiError(Code.Internal, "failed to extract data from network history segment file", `${tableNumber}`);
      }
      const range = checkRange(history.segments(), { fromBlock, toBlock });
      if (!range.valid) {
        throw invalidArgument(
          "could not to get contiguous history segments",
          `heights ${fromBlock} to ${toBlock} do not lie within a continuous segment range`,
        );
      }
      const wanted = { table, fromBlock, toBlock, profile, signal };
      responseHeader.set(
        "content-disposition",
        `attachment;filename=${nameOfArchive(chainId, range.segments, wanted)}`,
      );
      const blocks = { fromBlock: String(fromBlock), toBlock: String(toBlock) };
      let extensions =
        profile === "deployed" ? [] : [anyPack(StructSchema, fromJson(StructSchema, { chainId, table, ...blocks }))];
      for await (const data of writeArchive(history, wanted)) {
        yield { contentType: ARCHIVE_TYPE, data, extensions };
        extensions = [];
      }
    },

    async listAllNetworkHistorySegments() {
      return {
        segments: history.segments().map((segment) => ({
          fromHeight: segment.fromHeight,
          toHeight: segment.toHeight,
          historySegmentId: segment.id,
          previousHistorySegmentId: segment.previousId,
          databaseVersion: segment.databaseVersion,
          chainId: segment.chainId,
        })),
      };
    },
  };
}
