import { assertKnownKeys, parsePositiveInteger, parseSignal } from "../base/input/assert.js";
import { snapshot } from "../base/input/snapshot.js";
import { MAX_SEGMENTS } from "../data/history/segment-chain.js";
import type { BlockRange } from "../data/history/segments.js";
import { type TableName, tableNames } from "../data/schema/table-names.js";
import { askedTables, compareCoverage, compareLedger, includeEarlier } from "./coverage.js";
import { assertSameChain } from "./divergence.js";
import { type NodeLag, readHistory } from "./node-history.js";
import { readLedger } from "./plan-history.js";
import { type Divergence, type Sink, type TableRange, type TableSummary, withSink } from "./sink.js";
import { parseBlockRange, parseClients, parseTables, type SyncClient, type SyncOptions } from "./sync-options.js";
import type { MissingSegment, NodeHistory, Segment } from "./unit.js";

/** Default number of missing segments that are listed. */
const MISSING_LISTED = 100;

/** Options of a status. */
export interface StatusOptions {
  /** The node to compare with, or several nodes of one network. Without it, missing segments cannot be reported. */
  readonly clients?: SyncClient | readonly SyncClient[] | undefined;
  /** By default, those that syncs into the sink were asked for; all tables before the first sync. */
  readonly tables?: readonly TableName[] | undefined;
  /** Only segments within it can be missing. */
  readonly range?: SyncOptions["range"];
  /** Maximum number of missing segments that are listed; 100 by default. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The coverage of a sink, compared with a node. */
export interface SyncStatus {
  /** The chain that the sink holds; absent if it is empty. */
  readonly chainId?: string;
  /** The node's blocks; absent without clients, and if the node has no history yet. */
  readonly blocks?: BlockRange;
  /** Number of the node's segments within the range; absent without clients. */
  readonly segments?: number;
  /** The lag of the nodes' last blocks behind their cores and the clock; absent without clients. */
  readonly lags?: readonly NodeLag[];
  readonly tables: readonly TableSummary[];
  /** The oldest missing segments. */
  readonly missing: readonly MissingSegment[];
  /**
   * Blocks that the sink lacks and that no node has, so that no sync can load them; without clients, all blocks between units
   * that no unit covers. At most 1000, the oldest first.
   */
  readonly gaps: readonly TableRange[];
  /** Where the histories diverge. */
  readonly divergence?: Divergence;
}

/**
 * Returns which segments a sink has, which it lacks, and where its history diverges from the node's. Nothing is
 * changed.
 *
 * @param sink is only read, and closed at the end
 * @param options the node to compare with, the tables, and the range
 * @returns the state of each table
 * @throws `RequestError` if an option is wrong, or the sink holds a different chain than the node; errors of node and
 *   sink
 *
 * @example
 * const { tables, divergence } = await syncStatus(sink, { clients: client });
 */
export function syncStatus(sink: Sink, options: StatusOptions = {}): Promise<SyncStatus> {
  options = snapshot(options);
  return withSink(sink, async () => {
    assertKnownKeys("options", options, { clients: true, tables: true, range: true, limit: true, signal: true });
    const given = options.tables && parseTables(options.tables);
    const range = parseBlockRange(options.range);
    const signal = parseSignal(options.signal);
    const history = options.clients && (await readHistory(parseClients(options.clients), signal));
    const sinkChain = await sink.inspect(signal);
    if (history !== undefined) {
      assertSameChain(sink.name, sinkChain, history.chainId);
    }
    const nodes: NodeHistory = history ?? { chainId: sinkChain ?? "", segments: [] };
    const asked = sinkChain === undefined ? undefined : await askedTables(sink);
    const query = {
      history: nodes,
      tables: given ?? (asked === undefined || asked.size === 0 ? tableNames : [...asked.keys()]),
      range,
      asked,
      limit: parsePositiveInteger("limit", options.limit ?? MISSING_LISTED, MAX_SEGMENTS),
    };
    const { foreign: _, ...compared } =
      sinkChain === undefined
        ? await compareLedger({ entries: (table) => readLedger(sink, table, sinkChain) }, query)
        : await compareCoverage(sink, query);
    const whole = history && (await includeEarlier(sink, { history, range }, compared));
    const found = { ...compared, ...whole, missing: (whole ?? compared).missing.slice(0, query.limit) };
    const [first, last] = [nodes.segments[0], nodes.segments.at(-1)];
    return {
      ...(sinkChain !== undefined && { chainId: sinkChain }),
      ...(first && last && { blocks: { fromBlock: first.fromBlock, toBlock: last.toBlock } }),
      ...(history && { segments: countWithin(history.segments, range), lags: history.lags }),
      ...found,
    };
  });
}

function countWithin(segments: readonly Segment[], { fromBlock, toBlock }: BlockRange): number {
  return segments.filter((segment) => fromBlock <= segment.fromBlock && segment.toBlock <= toBlock).length;
}
