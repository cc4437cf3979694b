import type { TableName } from "../schema/tables.js";
import type { MissingSegment, Parting, Sink, Survey, SurveyQuestion, TableSurvey } from "./sink.js";
import { partingAt, standings } from "./standing.js";
import type { LedgerEntry } from "./unit.js";

/**
 * Compare what a sink has with a history: by the sink's own `survey`, or by reading its ledger once, table by table.
 * Time grows with entries and segments, memory with `limit` alone.
 *
 * @param sink the sink, opened
 * @param question the history, the tables, the range, how much is listed at most, and whether another history is taken
 * @returns what is there, what is missing, and where the histories part
 * @throws `SinkError` where the ledger cannot be read or is broken
 *
 * @example
 * const range = { fromBlock: 1n, toBlock: 2n ** 63n - 1n };
 * const { missing, parting } = await surveyOf(sink, { history, tables: ["trades"], range, limit: 1000 });
 */
export function surveyOf(sink: Pick<Sink, "entries" | "survey">, question: SurveyQuestion): Promise<Survey> {
  return sink.survey === undefined ? mergedSurvey(sink, question) : sink.survey(question);
}

/**
 * Do what {@link surveyOf} says by reading the ledger. A sink may compare its own survey with this one.
 *
 * @param sink the sink, opened
 * @param question as for `surveyOf`
 * @returns as `surveyOf` does
 * @throws `SinkError` as `surveyOf` does
 */
export async function mergedSurvey(sink: Pick<Sink, "entries">, question: SurveyQuestion): Promise<Survey> {
  const tables: TableSurvey[] = [];
  let missing: MissingSegment[] = [];
  let foreign: LedgerEntry[] = [];
  let parting: Parting | undefined;
  for (const table of question.tables) {
    const found = await surveyTable(sink, table, question);
    tables.push(found.survey);
    missing = missing.concat(found.missing);
    foreign = foreign.concat(found.foreign);
    if (found.parting !== undefined && (parting === undefined || isBefore(found.parting.entry, parting.entry))) {
      parting = found.parting;
    }
  }
  // Sorting is stable, so that tables keep their order.
  missing.sort((a, b) => compare(a.segment.fromBlock, b.segment.fromBlock));
  foreign.sort((a, b) => compare(a.fromBlock, b.fromBlock));
  return {
    tables,
    missing: missing.slice(0, question.limit),
    foreign: foreign.slice(0, question.limit),
    ...(parting && { parting }),
  };
}

async function surveyTable(
  sink: Pick<Sink, "entries">,
  table: TableName,
  { history: { segments }, range, limit, replaceFrom, behind }: SurveyQuestion,
) {
  const missing: MissingSegment[] = [];
  const foreign: LedgerEntry[] = [];
  let parting: Parting | undefined;
  let [units, rows, bytes, absent] = [0n, 0n, 0n, 0n];
  let [first, last]: (LedgerEntry | undefined)[] = [];
  for await (const step of standings(sink.entries(table, behind), segments, range, replaceFrom)) {
    if (step.case === "missing") {
      absent += 1n;
      if (missing.length < limit) {
        missing.push({ table, segment: step.segment });
      }
      continue;
    }
    const { entry, standing } = step;
    [units, rows, bytes] = [units + 1n, rows + entry.rows, bytes + entry.bytes];
    first ??= entry;
    last = entry;
    if (step.foreign && foreign.length < limit) {
      foreign.push(entry);
    } else if (!step.foreign && standing === "parted" && parting === undefined) {
      parting = partingAt(entry, segments);
    }
  }
  const survey: TableSurvey = {
    table,
    units,
    rows,
    bytes,
    ...(first && { fromBlock: first.fromBlock }),
    ...(last && { toBlock: last.toBlock }),
    missing: absent,
  };
  return { survey, missing, foreign, parting };
}

function isBefore(a: LedgerEntry, b: LedgerEntry): boolean {
  return a.fromBlock < b.fromBlock;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
