import { throwIfAborted } from "../base/signal/wait.js";
import type { BlockRange } from "../data/history/segments.js";
import type { TableName } from "../data/schema/table-names.js";
import { retryWhileUnavailable } from "./availability.js";
import { askedTables, divergenceAt, fillGaps, matchLedger, oldestGaps } from "./coverage.js";
import { assertSameChain } from "./divergence.js";
import { readHistory, reportNodes } from "./node-history.js";
import { type Divergence, type Sink, type TableRange, withSink } from "./sink.js";
import { createReporter } from "./sync-events.js";
import { parseClients, parseSyncOptions, type SyncClient, type SyncOptions } from "./sync-options.js";
import { canJoin, type LedgerEntry, type MissingSegment, type Segment } from "./unit.js";

/** The part of a table that a sync would fetch. Only the node knows how many rows that is. */
export interface TablePlan {
  readonly table: TableName;
  /** Units in the sink. */
  readonly units: number;
  /** Rows in the sink. */
  readonly rows: bigint;
  /** Missing segments. */
  readonly missing: bigint;
  /** Exports that fetch them, which is also the number of units. */
  readonly calls: number;
}

/** The plan of a sync. */
export interface HistoryPlan {
  readonly chainId: string;
  /** The blocks of the node; absent if it has no history yet. */
  readonly blocks?: BlockRange;
  /** Number of segments of the node. */
  readonly segments: number;
  readonly tables: readonly TablePlan[];
  /** Blocks that the sink lacks and that no node has, so that a sync cannot load them. At most 1000, the oldest first. */
  readonly gaps: readonly TableRange[];
  /** Where the histories diverge: a sync would stop there, and change nothing. */
  readonly divergence?: Divergence;
  /** With `replaceFrom`: how many units of another history would be replaced or removed. */
  readonly foreign: number;
}

/**
 * Computes what {@link syncHistory} would do. Nothing is changed in the sink.
 *
 * @param clients the node, or several nodes of one network
 * @param options the options of the sync; the sink is closed at the end
 * @returns segments and calls by table
 * @throws `RequestError` if an option is wrong, or the sink holds another chain; errors of node and sink
 *
 * @example
 * for (const { table, missing, calls } of (await planHistory(client, { sink })).tables) console.log(table, missing, calls);
 */
export function planHistory(clients: SyncClient | readonly SyncClient[], options: SyncOptions): Promise<HistoryPlan> {
  return planned(clients, options, () => undefined);
}

/** Plans a sync like {@link planHistory}, and passes on each missing segment. */
export function planned(
  clients: SyncClient | readonly SyncClient[],
  options: SyncOptions,
  onMissing: (missing: MissingSegment) => void,
): Promise<HistoryPlan> {
  const sink = options?.sink;
  return withSink(sink, async () => {
    const { tables, range, segmentsPerExport, replaceFrom, retryForMs, hooks, ...checked } = parseSyncOptions(options);
    const signal = checked.signal ?? new AbortController().signal;
    const report = createReporter(hooks);
    const retryContext = { retryForMs, report, signal };
    const history = await retryWhileUnavailable(() => readHistory(parseClients(clients), signal), retryContext);
    reportNodes(history, report);
    const sinkChain = await retryWhileUnavailable(() => sink.inspect(signal), retryContext);
    assertSameChain(sink.name, sinkChain, history.chainId);
    const { segments } = history;
    const asked = sinkChain === undefined ? undefined : await askedTables(sink);
    const plans: TablePlan[] = [];
    const gaps: TableRange[] = [];
    let divergence: Divergence | undefined;
    let foreign = 0;
    for (const table of tables) {
      const counter = createCallCounter(segmentsPerExport);
      const found: TableRange[] = [];
      let [units, rows] = [0, 0n];
      for await (const step of matchLedger(readLedger(sink, table, sinkChain), segments, range, {
        replaceFrom,
        from: asked?.get(table),
      })) {
        throwIfAborted(signal);
        if (step.kind === "missing") {
          counter.add(step.segment);
          onMissing({ table, segment: step.segment });
          continue;
        }
        if (step.kind === "gap") {
          found.push({ table, ...step.blocks });
          continue;
        }
        [units, rows] = [units + 1, rows + step.entry.rows];
        foreign += step.foreign ? 1 : 0;
        if (step.relation === "diverged" && !step.foreign && isEarlier(step.entry, divergence)) {
          divergence = divergenceAt(step.entry, segments);
        }
      }
      const filled = await fillGaps({ entries: () => readLedger(sink, table, sinkChain) }, found, history, range);
      for (const { segment } of filled.missing) {
        counter.add(segment);
        onMissing({ table, segment });
      }
      gaps.push(...filled.gaps);
      plans.push({ table, units, rows, ...counter.counts() });
    }
    const [first, last] = [segments[0], segments.at(-1)];
    return {
      chainId: history.chainId,
      ...(first && last && { blocks: { fromBlock: first.fromBlock, toBlock: last.toBlock } }),
      segments: segments.length,
      tables: plans,
      gaps: oldestGaps(gaps),
      ...(divergence && { divergence }),
      foreign,
    };
  });
}

/** Reads the ledger of a table. An empty sink has no entries. */
export async function* readLedger(
  sink: Pick<Sink, "entries">,
  table: TableName,
  sinkChain: string | undefined,
): AsyncGenerator<LedgerEntry, void, undefined> {
  if (sinkChain !== undefined) {
    yield* sink.entries(table);
  }
}

function isEarlier(entry: LedgerEntry, divergence: Divergence | undefined): boolean {
  return divergence === undefined || entry.fromBlock < divergence.entry.fromBlock;
}

/** Counts segments and the units that `unitsOf` would make of them. */
function createCallCounter(segmentsPerExport: number) {
  let [missing, calls, size] = [0n, 0, 0];
  let before: Segment | undefined;
  return {
    add(segment: Segment) {
      const joined = before !== undefined && size < segmentsPerExport && canJoin(before, segment);
      size = joined ? size + 1 : 1;
      calls += joined ? 0 : 1;
      missing += 1n;
      before = segment;
    },
    counts: () => ({ missing, calls }),
  };
}
