import { fromJson } from "@bufbuild/protobuf";
import { anyPack, StructSchema } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { Table, type TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { CheckpointEvent } from "../../../gen/vega/events/v1/events_pb.js";
import { Code } from "../../base/errors/code.js";
import { RequestError } from "../../base/errors/index.js";
import { type Profile, profileRules } from "../../base/profile.js";
import { archiveName, csvName } from "../../data/archive/export-names.js";
import { ARCHIVE_TYPE } from "../../data/history/export-chunks.js";
import { checkRange, nearestText, type SegmentSpan, schemaSpans } from "../../data/history/segments.js";
import { type TableName, tableName } from "../../data/schema/table-names.js";
import { writeArchiveFiles } from "../../data/zip/write-zip.js";
import { apiError, invalidArgument, requireFound } from "../api-error.js";
import type { History, NodeSegment } from "../history/history.js";
import { csvHeader } from "../tables/index.js";
import type { World } from "../world/world.js";
import { readPage, sortedListing, timelineListing, timePart, withNodes } from "./pagination.js";

/** A placeholder address: the local node is not an IPFS peer, and shares its segments with nobody. */
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

export function historyMethods(
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
        `attachment;filename=${rangeArchiveName(chainId, range.segments, wanted)}`,
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
      // The network's error for a node without segments (`ErrGetMostRecentHistorySegment` in datanode/api/errors.go).
      const segment = requireFound(newest, "failed to get most recent history segment", "segment not found");
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

function segmentOf({ fromHeight, toHeight, id, previousId, databaseVersion, chainId }: NodeSegment) {
  return { fromHeight, toHeight, historySegmentId: id, previousHistorySegmentId: previousId, databaseVersion, chainId };
}

/** The version of the network's engine that took the snapshots. */
const CORE_VERSION = "v0.78.0";

/**
 * Implements the listings of core snapshots and checkpoints. There is a snapshot at the end of each segment. Only the generated
 * history has checkpoints.
 */
export function snapshotMethods(
  history: Pick<History, "segments">,
  world: Pick<World, "blockAt" | "checkpoints">,
): Pick<ServiceImpl<typeof TradingDataService>, "listCoreSnapshots" | "listCheckpoints"> {
  return {
    async listCoreSnapshots({ pagination }) {
      const heights = history.segments().map(({ toHeight }) => toHeight);
      const listing = sortedListing(heights, [/^\d{19}$/], (height) => [timePart(height)]);
      const node = (blockHeight: bigint) => {
        const blockHash = world.blockAt(blockHeight)?.hash ?? "";
        return { blockHeight, blockHash, coreVersion: CORE_VERSION };
      };
      return {
        coreSnapshots: withNodes(readPage(listing, pagination, { message: "failed to list core snapshots" }), node),
      };
    },

    async listCheckpoints({ pagination }) {
      const node = ({ hash, blockHash, blockHeight }: CheckpointEvent) => ({ hash, blockHash, atBlock: blockHeight });
      const listing = timelineListing(world.checkpoints);
      return { checkpoints: withNodes(readPage(listing, pagination, { message: "failed to get checkpoint" }), node) };
    },
  };
}

/** The options of {@link writeArchive}. */
export interface WriteArchiveOptions {
  readonly table: TableName;
  /** First block; the first of a segment. */
  readonly fromBlock: bigint;
  /** Last block, inclusive; the last of a segment. */
  readonly toBlock: bigint;
  /** The profile that determines the file names; `specification` by default. */
  readonly profile?: Profile | undefined;
  /** Aborts the export, which throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The size of each chunk of an archive, in bytes. The last chunk may be smaller. */
export const CHUNK_BYTES = 1024 * 1024;

/**
 * Writes an archive of CSV files, one file for each span of blocks with the same database schema.
 * Like a deployed node, it deflates the files, writes their sizes to data descriptors and adds no comment. The same history
 * always results in the same bytes.
 *
 * Rows are generated lazily, only as fast as the caller reads the chunks. If the caller stops early, the export is canceled.
 *
 * @throws {@link RequestError} if the range does not consist of complete segments
 */
export async function* writeArchive(
  history: Pick<History, "chainId" | "segments" | "read">,
  options: WriteArchiveOptions,
): AsyncGenerator<Uint8Array, void> {
  const range = checkRange(history.segments(), options);
  if (!range.valid) {
    throw new RequestError(`${range.problem}; ${nearestText(range.nearest)}`, {
      advice: "Export complete history segments.",
    });
  }
  const { table, profile = "specification", signal } = options;
  const spans = schemaSpans(range.segments);
  const files = spans.map((span) => {
    const { fromBlock, toBlock, databaseVersion: schemaVersion } = span;
    const versioned = profileRules[profile].names.versioned === "files" || spans.length > 1;
    const name = { chainId: history.chainId, table, fromBlock, toBlock, ...(versioned && { schemaVersion }) };
    return {
      name: csvName(name, profile),
      content: () => csvOf(history, table, span, signal),
    };
  });
  yield* inEqualChunks(writeArchiveFiles(files));
}

function rangeArchiveName(
  chainId: string,
  segments: readonly NodeSegment[],
  { table, fromBlock, toBlock, profile }: WriteArchiveOptions,
): string {
  const name = { chainId, table, fromBlock, toBlock };
  const schemaVersion = segments.at(-1)?.databaseVersion;
  return archiveName(segments[0]?.databaseVersion === schemaVersion ? name : { ...name, schemaVersion }, profile);
}

async function* csvOf(
  history: Pick<History, "read">,
  table: TableName,
  { segments, databaseVersion }: SegmentSpan<NodeSegment> & { readonly databaseVersion: bigint },
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvHeader(table, databaseVersion));
  for (const segment of segments) {
    yield* history.read(table, segment, signal);
  }
}

/** Combines and splits chunks of bytes, so that all but the last have the same size. */
export async function* inEqualChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let output = new Uint8Array(CHUNK_BYTES);
  let length = 0;
  for await (const chunk of chunks) {
    for (let offset = 0; offset < chunk.length; ) {
      const bytes = chunk.subarray(offset, offset + CHUNK_BYTES - length);
      output.set(bytes, length);
      offset += bytes.length;
      length += bytes.length;
      if (length === CHUNK_BYTES) {
        yield output;
        output = new Uint8Array(CHUNK_BYTES);
        length = 0;
      }
    }
  }
  if (length > 0) {
    yield output.subarray(0, length);
  }
}
