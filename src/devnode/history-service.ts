import { fromJson } from "@bufbuild/protobuf";
import { anyPack, StructSchema } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { archiveName } from "../archive/names.js";
import { ARCHIVE_TYPE } from "../history/assemble.js";
import { checkRange, nearestText } from "../history/segments.js";
import { tableName, tableNames } from "../schema/tables.js";
import { writeArchive } from "./archive.js";
import type { Database, Segment } from "./database.js";
import { invalid } from "./invalid.js";

type HistoryService = Pick<
  ServiceImpl<typeof TradingDataService>,
  "exportNetworkHistory" | "listAllNetworkHistorySegments"
>;

/**
 * Implement the methods for network history on a database (specification, 4.1).
 *
 * @param database the database that holds the history
 * @returns the methods of the data service that export history and list its segments
 */
export function historyService(database: Database): HistoryService {
  return {
    async *exportNetworkHistory({ fromBlock, toBlock, table: tableNumber }, { responseHeader }) {
      const table = tableName(tableNumber);
      if (table === undefined) {
        throw invalid(
          "table",
          `${tableNumber} is not a table that can be exported; the tables are ${tableNames.join(", ")}`,
        );
      }
      const range = checkRange(await database.listSegments(), { fromBlock, toBlock });
      if (!range.valid) {
        throw invalid("range", `${range.problem}; ${nearestText(range.nearest)}`);
      }
      const { chainId } = database;
      const name = archiveName({ chainId, table, fromBlock, toBlock, schemaVersion: archiveVersion(range.segments) });
      responseHeader.set("content-disposition", `attachment;filename=${name}`);
      const metadata = fromJson(StructSchema, {
        chainId,
        table,
        fromBlock: String(fromBlock),
        toBlock: String(toBlock),
      });
      let extensions = [anyPack(StructSchema, metadata)];
      for await (const data of writeArchive(database, { chainId, table, fromBlock, toBlock })) {
        yield { contentType: ARCHIVE_TYPE, data, extensions };
        extensions = [];
      }
    },

    async listAllNetworkHistorySegments() {
      const segments = await database.listSegments();
      return {
        segments: segments.map((segment) => ({
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

/** The schema version in an archive's name: that of its last block if the range crosses a schema change, else none. */
function archiveVersion(segments: readonly Segment[]): bigint | undefined {
  const last = segments.at(-1)?.databaseVersion;
  return segments[0]?.databaseVersion === last ? undefined : last;
}
