import { monotonicMs } from "../runtime/index.js";
import { wait } from "../signal/wait.js";
import type { AgreedHistory } from "./agree.js";
import type { CheckedOptions } from "./check-options.js";
import { readHistory } from "./node-history.js";
import type { SyncClient } from "./options.js";
import { partingError } from "./parting.js";
import { type Patience, patiently } from "./patiently.js";
import type { MissingSegment, Sink, Survey } from "./sink.js";
import { createSurveyor, withHeld } from "./surveyor.js";
import { tellNodes } from "./tell.js";
import type { NodeHistory, Unit } from "./unit.js";
import { unitsOf } from "./units.js";

/** What is compared. */
export interface Compared
  extends Pick<CheckedOptions, "tables" | "range" | "segmentsPerExport" | "replaceFrom" | "follow" | "pollMs"> {
  readonly clients: readonly SyncClient[];
  /** It is opened before the first comparison. */
  readonly sink: Sink;
  readonly patience: Patience;
  /** Called where the histories part, before that is thrown. */
  readonly onParting?: () => Promise<void>;
}

/** The history of the nodes, read again and again, and compared with a sink. */
export interface Comparison {
  /** The history, as it was read last. */
  readonly history: AgreedHistory;
  /** Whether `pollMs` have passed since the history was read. */
  isDue(): boolean;
  /** How long it is until the history is due, in milliseconds. */
  leftMs(): number;
  /**
   * Read the history again, and report the nodes that are away.
   *
   * @throws {@link PartingError} where it is another history; errors of the nodes where they cannot be asked for too long
   */
  read(): Promise<void>;
  /**
   * Find what is missing, and report how the tables stand.
   *
   * @param limit the most missing segments that are listed
   * @returns what was found; never a `parting`, as that is thrown
   * @throws {@link PartingError} where the histories part; errors of the sink
   */
  compare(limit: number): Promise<Survey>;
  /**
   * Make the units that bring missing segments.
   *
   * @param missing the segments
   * @returns the units; `isHeld` of the history says which of them a node has
   */
  unitsOf(missing: readonly MissingSegment[]): Unit[];
  /**
   * Remove units of another history that no unit of the nodes' takes the place of.
   *
   * @param found what was found
   * @returns whether there were any
   */
  removeForeign(found: Survey): Promise<boolean>;
}

/**
 * Read the history of the nodes, to compare it with a sink.
 *
 * @param compared the nodes, the sink, the tables and the range
 * @returns the comparison; undefined where the nodes do not tell their chain yet and are not followed
 * @throws errors of the nodes where they cannot be asked for too long; {@link CanceledError}
 */
export async function startComparison(compared: Compared): Promise<Comparison | undefined> {
  const { clients, sink, tables, range, replaceFrom, segmentsPerExport, follow, pollMs, patience } = compared;
  const { tell, signal } = patience;
  const survey = createSurveyor(sink);
  let readAt = monotonicMs();

  async function read(known?: NodeHistory): Promise<AgreedHistory> {
    readAt = monotonicMs();
    const found = await patiently(() => readHistory(clients, signal, known), patience);
    tellNodes(found, tell);
    return found;
  }

  let history = await read();
  while (history.chainId === "") {
    if (!follow) {
      return undefined;
    }
    tell({ case: "idle", againMs: pollMs });
    await wait(pollMs, signal);
    history = await read(history);
  }

  async function surveyed(limit: number): Promise<Survey> {
    const question = { history, tables, range, limit, ...(replaceFrom !== undefined && { replaceFrom }) };
    const found = await survey(question);
    if (found.parting !== undefined) {
      await compared.onParting?.();
      throw partingError(sink.name, found.parting);
    }
    return withHeld(sink, question, found);
  }

  return {
    get history() {
      return history;
    },
    isDue: () => monotonicMs() - readAt >= pollMs,
    leftMs: () => Math.max(0, pollMs - (monotonicMs() - readAt)),
    async read() {
      history = await read(history);
    },
    async compare(limit) {
      const found = await patiently(() => surveyed(limit), patience);
      const { chainId, segments } = history;
      tell({ case: "planned", history: { chainId, segments }, tables: found.tables });
      return found;
    },
    unitsOf: (missing) => unitsOf(history.chainId, missing, segmentsPerExport, history.isHeld),
    async removeForeign({ foreign }) {
      // A node that is away may have what lies behind the others' last block.
      return history.away.length === 0 && (await patiently(removeAll, patience));

      async function removeAll(): Promise<boolean> {
        const [first, last] = [history.segments[0], history.segments.at(-1)];
        let removed = false;
        for (const entry of foreign) {
          const within = range.fromBlock <= entry.fromBlock && entry.toBlock <= range.toBlock;
          if (within && first && last && (entry.toBlock < first.fromBlock || entry.fromBlock > last.toBlock)) {
            await sink.remove(entry);
            removed = true;
          }
        }
        return removed;
      }
    },
  };
}
