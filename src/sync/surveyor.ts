import { monotonicMs } from "../runtime/index.js";
import type { TableName } from "../schema/tables.js";
import type { AgreedHistory } from "./agree.js";
import type { Sink, Survey, SurveyQuestion, TableSurvey } from "./sink.js";
import { firstEndingAt } from "./standing.js";
import { surveyOf } from "./survey.js";

/** How often all of the ledger is compared again, in milliseconds: something else may have changed it. */
const WHOLE_MS = 3_600_000;

/** What is there of all tables up to a block, so that only what lies behind it is compared. */
interface Settled {
  readonly block: bigint;
  /** First block of the history that was compared. What comes to be there before it was not. */
  readonly fromBlock: bigint;
  readonly tables: ReadonlyMap<TableName, TableSurvey>;
  /** Of the sink. */
  readonly identity: string | undefined;
  /** When the whole ledger was compared. */
  readonly wholeAt: number;
}

/**
 * Make a function that does what {@link surveyOf} says, again and again, for a history that only grows. What it has found
 * complete in all tables is compared once an hour, with what others have loaded outside of the range, where the history
 * comes to begin earlier, as a node with older segments is back or has fetched them, and where the sink has another
 * identity, as after a reconnect; the rest at each call.
 *
 * @param sink the sink, opened
 * @returns compares. Its questions are of the same tables and range; a history goes on from the one before
 */
export function createSurveyor(
  sink: Pick<Sink, "entries" | "identity" | "survey">,
): (question: Omit<SurveyQuestion, "behind">) => Promise<Survey> {
  let settled: Settled | undefined;
  return async (question) => {
    const now = monotonicMs();
    const fromBlock = question.history.segments[0]?.fromBlock ?? 0n;
    // Asked before the ledger is read, so that what changes in between is noticed the next time.
    const identity = await sink.identity?.();
    if (
      settled !== undefined &&
      (now - settled.wholeAt >= WHOLE_MS || fromBlock < settled.fromBlock || identity !== settled.identity)
    ) {
      settled = undefined;
    }
    const found = await surveyOf(sink, settled === undefined ? question : behind(question, settled.block));
    const tables = found.tables.map((table) => sum(settled?.tables.get(table.table), table));
    const complete = completeUpTo(question, found);
    if (complete !== undefined) {
      const byName = new Map(tables.map((table) => [table.table, table]));
      settled = { block: complete, fromBlock, tables: byName, identity, wholeAt: settled?.wholeAt ?? now };
    }
    return { ...found, tables };
  };
}

function behind(question: SurveyQuestion, block: bigint): SurveyQuestion {
  const { chainId, segments } = question.history;
  const left = segments.slice(firstEndingAt(segments, block + 1n));
  return { ...question, history: { chainId, segments: left }, behind: block };
}

/** The block up to which nothing is missing and behind which nothing is there, where there is such a block. */
function completeUpTo({ history, replaceFrom, limit }: SurveyQuestion, found: Survey): bigint | undefined {
  const { missing, parting, tables } = found;
  const [oldest] = missing;
  const isListed = oldest !== undefined || (limit > 0 && tables.every((table) => table.missing === 0n));
  if (replaceFrom !== undefined || parting !== undefined || !isListed) {
    return undefined;
  }
  const block = oldest === undefined ? history.segments.at(-1)?.toBlock : oldest.segment.fromBlock - 1n;
  return tables.every(({ toBlock = 0n }) => toBlock <= (block ?? 0n)) ? block : undefined;
}

function sum(before: TableSurvey | undefined, now: TableSurvey): TableSurvey {
  if (before === undefined || before.units === 0n) {
    return now;
  }
  return {
    ...before,
    ...now,
    units: before.units + now.units,
    rows: before.rows + now.rows,
    bytes: before.bytes + now.bytes,
    ...(before.fromBlock !== undefined && { fromBlock: before.fromBlock }),
  };
}

/**
 * Look for what is missing that some node has, where all that was listed as missing is of nodes that are away: what is
 * listed is the oldest, and there may be more of it than a list takes.
 *
 * @param sink the sink, opened
 * @param question what was asked, of a history that nodes agree on
 * @param found what was found
 * @returns what was found; where that is so, with what is missing from the first block on that a node has, and behind it
 *   the oldest that none has
 */
export async function withHeld(
  sink: Pick<Sink, "entries" | "survey">,
  question: SurveyQuestion & { readonly history: AgreedHistory },
  found: Survey,
): Promise<Survey> {
  const { range, limit, history } = question;
  const { heldFrom: fromBlock } = history;
  const isHidden = found.missing.length >= limit && found.missing.every(({ segment }) => segment.toBlock < fromBlock);
  if (!isHidden || fromBlock > range.toBlock) {
    return found;
  }
  const { missing } = await surveyOf(sink, { ...question, range: { ...range, fromBlock } });
  return { ...found, missing: [...missing, ...found.missing.slice(0, 1)] };
}
