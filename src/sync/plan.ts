import type { BlockRange } from "../history/segments.js";
import type { TableName } from "../schema/tables.js";
import { requireGoing } from "../signal/wait.js";
import { checkSyncOptions, clientsOf } from "./check-options.js";
import { readHistory } from "./node-history.js";
import type { SyncClient, SyncOptions } from "./options.js";
import { requireSameChain } from "./parting.js";
import { patiently } from "./patiently.js";
import type { Parting, Sink } from "./sink.js";
import { partingAt, standings } from "./standing.js";
import { teller, tellNodes } from "./tell.js";
import type { LedgerEntry, Segment } from "./unit.js";
import { joins } from "./units.js";
import { withSink } from "./with-sink.js";

/** What a sync would fetch of a table. How many rows that is, only the node knows. */
export interface TablePlan {
  readonly table: TableName;
  /** Units that are there. */
  readonly units: bigint;
  /** Rows that are there. */
  readonly rows: bigint;
  /** Segments that are missing. */
  readonly missing: bigint;
  /** Exports that bring them: units to load. */
  readonly calls: bigint;
}

/** What a sync would do. */
export interface HistoryPlan {
  readonly chainId: string;
  /** The blocks of the node; absent where it has no history yet. */
  readonly blocks?: BlockRange;
  /** How many segments the node has. */
  readonly segments: number;
  readonly tables: readonly TablePlan[];
  /** Where the histories part: a sync would stop there, and change nothing. */
  readonly parting?: Parting;
  /** How many units of another history would be replaced or removed, with `replaceFrom`. */
  readonly foreign: bigint;
}

/**
 * Tell what {@link syncHistory} would do. Nothing is changed: the sink is only looked at.
 *
 * @param clients the node, or several nodes of one network
 * @param options those of the sync; the sink is closed at the end
 * @returns segments and calls by table
 * @throws `RequestError` where an option is wrong, or the sink holds another chain; errors of node and sink
 *
 * @example
 * for (const { table, missing, calls } of (await planHistory(client, { sink })).tables) console.log(table, missing, calls);
 */
export function planHistory(clients: SyncClient | readonly SyncClient[], options: SyncOptions): Promise<HistoryPlan> {
  const sink = options?.sink;
  return withSink(sink, async () => {
    const { tables, range, segmentsPerExport, replaceFrom, patienceMs, hooks, ...checked } = checkSyncOptions(options);
    const signal = checked.signal ?? new AbortController().signal;
    const tell = teller(hooks);
    const patience = { patienceMs, tell, signal };
    const history = await patiently(() => readHistory(clientsOf(clients), signal), patience);
    tellNodes(history, tell);
    const held = await patiently(() => sink.inspect(signal), patience);
    requireSameChain(sink.name, held, history.chainId);
    const { segments } = history;
    const plans: TablePlan[] = [];
    let parting: Parting | undefined;
    let foreign = 0n;
    for (const table of tables) {
      const counter = createCallCounter(segmentsPerExport);
      let [units, rows] = [0n, 0n];
      for await (const step of standings(entriesOf(sink, table, held), segments, range, replaceFrom)) {
        requireGoing(signal);
        if (step.case === "missing") {
          counter.add(step.segment);
          continue;
        }
        [units, rows] = [units + 1n, rows + step.entry.rows];
        foreign += step.foreign ? 1n : 0n;
        if (step.standing === "parted" && !step.foreign && isEarlier(step.entry, parting)) {
          parting = partingAt(step.entry, segments);
        }
      }
      plans.push({ table, units, rows, ...counter.counts() });
    }
    const [first, last] = [segments[0], segments.at(-1)];
    return {
      chainId: history.chainId,
      ...(first && last && { blocks: { fromBlock: first.fromBlock, toBlock: last.toBlock } }),
      segments: segments.length,
      tables: plans,
      ...(parting && { parting }),
      foreign,
    };
  });
}

/**
 * Read the ledger of a table, also of a sink that holds nothing yet.
 *
 * @param sink the sink, which was looked at
 * @param table the table
 * @param held the chain that it holds, if any
 * @returns the entries
 */
export async function* entriesOf(
  sink: Pick<Sink, "entries">,
  table: TableName,
  held: string | undefined,
): AsyncGenerator<LedgerEntry, void, undefined> {
  if (held !== undefined) {
    yield* sink.entries(table);
  }
}

function isEarlier(entry: LedgerEntry, parting: Parting | undefined): boolean {
  return parting === undefined || entry.fromBlock < parting.entry.fromBlock;
}

/** Counts segments and the units that `unitsOf` would make of them. */
function createCallCounter(segmentsPerExport: number) {
  let [missing, calls, size] = [0n, 0n, 0];
  let before: Segment | undefined;
  return {
    add(segment: Segment) {
      const joined = before !== undefined && size < segmentsPerExport && joins(before, segment);
      size = joined ? size + 1 : 1;
      calls += joined ? 0n : 1n;
      missing += 1n;
      before = segment;
    },
    counts: () => ({ missing, calls }),
  };
}
