import { fromJson } from "@bufbuild/protobuf";
import { anyPack, StructSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import { Table, type TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { ARCHIVE_TYPE } from "../history/assemble.js";
import { checkRange } from "../history/segments.js";
import type { Profile } from "../schema/profile.js";
import { tableName } from "../schema/tables.js";
import { apiError, existing, invalidArgument } from "./api-error.js";
import { nameOfArchive, writeArchive } from "./archive.js";
import type { History, Segment } from "./history/history.js";

/** The address of a peer: the local node is none, and shares its segments with nobody. */
const IPFS_ADDRESS = "/ip4/0.0.0.0/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";

type HistoryService = Pick<
  ServiceImpl<typeof TradingDataService>,
  | "exportNetworkHistory"
  | "getActiveNetworkHistoryPeerAddresses"
  | "getMostRecentNetworkHistorySegment"
  | "getNetworkHistoryBootstrapPeers"
  | "getNetworkHistoryStatus"
  | "listAllNetworkHistorySegments"
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

    async getMostRecentNetworkHistorySegment() {
      const newest = history.segments().at(-1);
      // A node without segments has no files of them either (`ErrGetMostRecentHistorySegment` in datanode/api/errors.go).
      const segment = existing(newest, "failed to get most recent history segment", "segment not found");
      return { segment: segmentOf(segment), swarmKeySeed: chainId };
    },

    async getNetworkHistoryStatus() {
      // A swarm's key is its seed's bytes in hexadecimal, filled with zeros to 32 bytes.
      const key = Buffer.concat([Buffer.from(chainId), Buffer.alloc(32)])
        .subarray(0, 32)
        .toString("hex");
      return {
        ipfsAddress: IPFS_ADDRESS,
        swarmKey: `/key/swarm/psk/1.0.0/\n/base16/\n${key}`,
        swarmKeySeed: chainId,
        connectedPeers: [],
      };
    },

    getNetworkHistoryBootstrapPeers: () => ({ bootstrapPeers: [] }),
    getActiveNetworkHistoryPeerAddresses: () => ({ ipAddresses: [] }),

    async listAllNetworkHistorySegments() {
      // As on deployed nodes, the newest comes first.
      return { segments: history.segments().toReversed().map(segmentOf) };
    },
  };
}

function segmentOf({ fromHeight, toHeight, id, previousId, databaseVersion, chainId }: Segment) {
  return { fromHeight, toHeight, historySegmentId: id, previousHistorySegmentId: previousId, databaseVersion, chainId };
}
