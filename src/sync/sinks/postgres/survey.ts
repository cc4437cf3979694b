import type { PoolClient } from "pg";
import type { BlockRange } from "../../../history/segments.js";
import { isTableName, type TableName } from "../../../schema/tables.js";
import type { MissingSegment, Survey, SurveyQuestion, TableSurvey } from "../../sink.js";
import { partingAt } from "../../standing.js";
import type { Segment } from "../../unit.js";
import { copyCsv } from "./copy.js";
import { ENTRY, entryOf, type LedgerRow } from "./ledger.js";
import type { Packages } from "./packages.js";
import { gapsSql, judgedSql, missingSql, type Places } from "./survey-sql.js";

/** Memory of a survey in the server: for the hashes of 300,000 segments, which then go through the ledger in one pass. */
const SURVEY_MEMORY = "256MB";
/** Segments that are sent at once. */
const SENT = 1000;

/**
 * Answer what a sink has that holds nothing.
 *
 * @param question what is asked
 * @returns all of the history as missing
 */
export function emptySurvey({ history: { segments }, tables, range, limit }: SurveyQuestion): Survey {
  const { low, high } = placesWithin(segments, range);
  const absent = segments.slice(low, high + 1);
  const missing = absent
    .slice(0, limit)
    .flatMap((segment) => tables.map((table) => ({ table, segment })))
    .slice(0, limit);
  const none = { units: 0n, rows: 0n, bytes: 0n, missing: BigInt(absent.length) };
  return { tables: tables.map((table) => ({ table, ...none })), missing, foreign: [] };
}

/**
 * Compare the ledger with a history in the database. The node's segments go into a table that ends with the
 * transaction; the ledger is read once, and again only for what is missing or of another history.
 *
 * @param client in a transaction
 * @param within the schema
 * @param copyFrom of `pg-copy-streams`
 * @param question what is asked
 * @returns what is there, what is missing, and where the histories part
 */
export async function surveyInSql(
  client: PoolClient,
  within: string,
  copyFrom: Packages["copyFrom"],
  question: SurveyQuestion,
): Promise<Survey> {
  const { history, tables, limit } = question;
  const { segments } = history;
  await client.query(`SET LOCAL work_mem TO '${SURVEY_MEMORY}'; SET LOCAL jit TO off; CREATE TEMP TABLE pg_temp.tradewire_segment
    (n int4, from_block int8, to_block int8, id text COLLATE "C", previous_id text COLLATE "C") ON COMMIT DROP`);
  const names = ["n", "from_block", "to_block", "id", "previous_id"];
  await copyCsv(client, copyFrom, "pg_temp.tradewire_segment", names, csvOf(segments));
  await client.query("ANALYZE pg_temp.tradewire_segment");
  const range = placesWithin(segments, question.range);
  const judged = judgedSql(within, question);
  const values = [tables, segments[0]?.previousId ?? ""];

  const sums = await client.query<SumRow>(
    `SELECT table_name, count(*)::text AS units, sum(rows)::text AS rows, sum(bytes)::text AS bytes,
       min(from_block)::text AS from_block, max(to_block)::text AS to_block,
       coalesce(sum(greatest(0, least(last, ${range.high}) - greatest(first, ${range.low}) + 1)) FILTER (WHERE covers), 0)::text AS covered,
       bool_or(parted) AS parted, bool_or(is_foreign) AS is_foreign
     FROM (${judged}) AS e GROUP BY table_name`,
    values,
  );
  const found = new Map(sums.rows.map((row) => [row.table_name, row]));
  const surveys = tables.map((table) => tableSurvey(table, found.get(table), BigInt(range.high - range.low + 1)));
  const listed = (condition: string, most: number) =>
    client.query<LedgerRow>(
      `SELECT ${ENTRY} FROM (${judged}) AS e WHERE ${condition} ORDER BY e.from_block, array_position($1, e.table_name) LIMIT ${most}`,
      values,
    );
  const parted = sums.rows.some((row) => row.parted) ? (await listed("parted", 1)).rows.map(entryOf) : [];
  const foreign = sums.rows.some((row) => row.is_foreign) ? (await listed("is_foreign", limit)).rows.map(entryOf) : [];
  const lacking = surveys.filter(({ missing }) => missing > 0n).map(({ table }) => table);
  const sound = sums.rows.every((row) => !row.parted && !row.is_foreign);
  const missing =
    lacking.length === 0
      ? []
      : sound
        ? placesIn(
            segments.slice(range.low, range.high + 1),
            (await client.query<GapRow>(gapsSql(within, blocksOf(segments, range), limit, question.behind), [lacking]))
              .rows,
            question,
          )
        : named(
            segments,
            (await client.query<MissingRow>(missingSql(judged, range, limit), [...values, lacking])).rows,
          );
  const [entry] = parted;
  return { tables: surveys, missing, foreign, ...(entry && { parting: partingAt(entry, segments) }) };
}

interface SumRow {
  readonly table_name: string;
  readonly units: string;
  readonly rows: string;
  readonly bytes: string;
  readonly from_block: string;
  readonly to_block: string;
  readonly covered: string;
  readonly parted: boolean;
  readonly is_foreign: boolean;
}

interface MissingRow {
  readonly table_name: string;
  readonly n: number;
}

interface GapRow {
  readonly table_name: string;
  /** First and last block. */
  readonly low: string;
  readonly high: string;
}

function named(segments: readonly Segment[], rows: readonly MissingRow[]): MissingSegment[] {
  return rows.flatMap(({ table_name: table, n }) => {
    const segment = segments[n];
    return segment !== undefined && isTableName(table) ? [{ table, segment }] : [];
  });
}

/** The segments of gaps, the oldest first, then in the order of the tables; no more than are wanted. */
function placesIn(segments: readonly Segment[], rows: readonly GapRow[], { tables, limit }: SurveyQuestion) {
  const gaps = tables.flatMap((table) =>
    rows
      .filter(({ table_name }) => table_name === table)
      .map(({ low, high }) => ({
        table,
        from: firstFrom(segments, BigInt(low)),
        to: firstFrom(segments, BigInt(high) + 1n),
      })),
  );
  const starts = [...new Set(gaps.map(({ from }) => from))].sort((a, b) => a - b);
  const found: MissingSegment[] = [];
  for (let n = starts[0] ?? segments.length; n < segments.length && found.length < limit; ) {
    const segment = segments[n];
    const lacking = gaps.filter(({ from, to }) => from <= n && n < to);
    found.push(...lacking.flatMap(({ table }) => (segment === undefined ? [] : [{ table, segment }])));
    const place = n;
    n = lacking.length > 0 ? n + 1 : (starts.find((start) => start > place) ?? segments.length);
  }
  return found.slice(0, limit);
}

/** The place of the first segment that begins with the block or behind it. */
function firstFrom(segments: readonly Segment[], block: bigint): number {
  let [low, high] = [0, segments.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((segments[middle]?.fromBlock ?? block) < block) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function blocksOf(segments: readonly Segment[], { low, high }: Places): BlockRange {
  return { fromBlock: segments[low]?.fromBlock ?? 0n, toBlock: segments[high]?.toBlock ?? -1n };
}

/** The segments that lie wholly within a range. */
function placesWithin(segments: readonly Segment[], { fromBlock, toBlock }: SurveyQuestion["range"]): Places {
  const low = segments.findIndex((segment) => fromBlock <= segment.fromBlock);
  const high = segments.findLastIndex((segment) => segment.toBlock <= toBlock);
  return low < 0 || high < low ? { low: 0, high: -1 } : { low, high };
}

function tableSurvey(table: TableName, sums: SumRow | undefined, wanted: bigint): TableSurvey {
  return sums === undefined
    ? { table, units: 0n, rows: 0n, bytes: 0n, missing: wanted }
    : {
        table,
        units: BigInt(sums.units),
        rows: BigInt(sums.rows),
        bytes: BigInt(sums.bytes),
        fromBlock: BigInt(sums.from_block),
        toBlock: BigInt(sums.to_block),
        missing: wanted - BigInt(sums.covered),
      };
}

async function* csvOf(segments: readonly Segment[]): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from("n,from_block,to_block,id,previous_id\n");
  for (let start = 0; start < segments.length; start += SENT) {
    const lines = segments
      .slice(start, start + SENT)
      .map(({ fromBlock, toBlock, id, previousId }, index) =>
        [start + index, fromBlock, toBlock, csvText(id), csvText(previousId)].join(","),
      );
    yield Buffer.from(`${lines.join("\n")}\n`);
  }
}

function csvText(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
