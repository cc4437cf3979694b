import { checkSignal, requireKnown, whole } from "../errors/check-values.js";
import { MAX_SEGMENTS } from "../history/segment-chain.js";
import type { BlockRange } from "../history/segments.js";
import type { TableName } from "../schema/tables.js";
import type { NodeLag } from "./agree.js";
import { checkBlocks, checkTables, clientsOf } from "./check-options.js";
import { readHistory } from "./node-history.js";
import type { SyncClient, SyncOptions } from "./options.js";
import { requireSameChain } from "./parting.js";
import { entriesOf } from "./plan.js";
import type { MissingSegment, Parting, Sink, TableSurvey } from "./sink.js";
import { mergedSurvey, surveyOf } from "./survey.js";
import type { NodeHistory, Segment } from "./unit.js";
import { withSink } from "./with-sink.js";

/** How many of the missing segments a status lists by default. */
const MISSING_LISTED = 100;

/** How the status of a sink is asked for. */
export interface StatusOptions {
  /** The node, or several of one network, to compare with; without them, nothing is known to be missing. */
  readonly clients?: SyncClient | readonly SyncClient[] | undefined;
  /** All tables by default. */
  readonly tables?: readonly TableName[] | undefined;
  /** Segments outside are not missing. */
  readonly range?: SyncOptions["range"];
  /** How many missing segments are listed, at most; 100 by default. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a sink has, and how it stands to a node. */
export interface SyncStatus {
  /** The chain that the sink holds; absent where it holds nothing yet. */
  readonly chainId?: string;
  /** The node's blocks; absent without clients, and where the node has no history yet. */
  readonly blocks?: BlockRange;
  /** How many segments the node has within the range; absent without clients. */
  readonly segments?: number;
  /** How the last blocks of the nodes compare with those of their cores, and with the clock; absent without clients. */
  readonly lags?: readonly NodeLag[];
  readonly tables: readonly TableSurvey[];
  /** The oldest missing segments. */
  readonly missing: readonly MissingSegment[];
  /** Where the histories part. */
  readonly parting?: Parting;
}

/**
 * Tell what a sink has and, beside a node, what is missing and where the histories part. Nothing is changed.
 *
 * @param sink is looked at, and closed at the end
 * @param options the node to compare with, the tables, and the range
 * @returns what is there by table
 * @throws `RequestError` where an option is wrong, or the sink holds another chain than the node's; errors of node
 *   and sink
 *
 * @example
 * const { tables, parting } = await syncStatus(sink, { clients: client });
 */
export function syncStatus(sink: Sink, options: StatusOptions = {}): Promise<SyncStatus> {
  return withSink(sink, async () => {
    requireKnown("options", options, { clients: true, tables: true, range: true, limit: true, signal: true });
    const tables = checkTables(options.tables);
    const range = checkBlocks(options.range);
    const signal = checkSignal(options.signal);
    const history = options.clients && (await readHistory(clientsOf(options.clients), signal));
    const held = await sink.inspect(signal);
    if (history !== undefined) {
      requireSameChain(sink.name, held, history.chainId);
    }
    const compared: NodeHistory = history ?? { chainId: held ?? "", segments: [] };
    const question = {
      history: compared,
      tables,
      range,
      limit: whole("limit", options.limit ?? MISSING_LISTED, MAX_SEGMENTS),
    };
    const { foreign: _, ...found } =
      held === undefined
        ? await mergedSurvey({ entries: (table) => entriesOf(sink, table, held) }, question)
        : await surveyOf(sink, question);
    const [first, last] = [compared.segments[0], compared.segments.at(-1)];
    return {
      ...(held !== undefined && { chainId: held }),
      ...(first && last && { blocks: { fromBlock: first.fromBlock, toBlock: last.toBlock } }),
      ...(history && { segments: countWithin(history.segments, range), lags: history.lags }),
      ...found,
    };
  });
}

function countWithin(segments: readonly Segment[], { fromBlock, toBlock }: BlockRange): number {
  return segments.filter((segment) => fromBlock <= segment.fromBlock && segment.toBlock <= toBlock).length;
}
