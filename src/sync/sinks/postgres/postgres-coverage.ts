import type { PoolClient } from "pg";
import { RequestError } from "../../../base/errors/index.js";
import { firstIndex } from "../../../base/signal/collections.js";
import type { BlockRange } from "../../../data/history/segments.js";
import { isTableName, type TableName } from "../../../data/schema/table-names.js";
import { blocksBeyond, divergenceAt, oldestGaps } from "../../coverage.js";
import type { CoverageComparison, CoverageQuery, TableCoverage, TableRange, TableSummary } from "../../sink.js";
import type { MissingSegment, Segment } from "../../unit.js";
import { entryOf, type LedgerRow } from "../ledger-entry.js";
import type { Packages } from "./postgres-connections.js";
import { ENTRY } from "./postgres-ledger.js";
import { copyCsv } from "./postgres-units.js";

/**
 * The server's memory limit for a comparison. It fits the hashes of 300,000 segments, so that one pass over the ledger
 * suffices.
 */
const COMPARISON_MEMORY = "256MB";
/** The number of segments in a batch. */
const CHUNK_SEGMENTS = 1000;

export function emptyCoverage({ history: { segments }, tables, range, limit }: CoverageQuery): CoverageComparison {
  const { low, high } = indexesWithin(segments, range);
  const absent = segments.slice(low, high + 1);
  const missing = absent
    .slice(0, limit)
    .flatMap((segment) => tables.map((table) => ({ table, segment })))
    .slice(0, limit);
  const none = { units: 0, rows: 0n, bytes: 0n, missing: BigInt(absent.length), gapBlocks: 0n };
  return { tables: tables.map((table) => ({ table, ...none })), missing, gaps: [], foreign: [] };
}

/**
 * Compares the ledger with a history in the database. The node's segments are copied to a temporary table. The ledger is read
 * once, and a second time only if segments are missing or belong to another history.
 */
export async function compareCoverageInSql(
  client: PoolClient,
  within: string,
  copyFrom: Packages["copyFrom"],
  query: CoverageQuery,
): Promise<CoverageComparison> {
  const { history, tables, limit } = query;
  const { segments } = history;
  await client.query(`SET LOCAL work_mem TO '${COMPARISON_MEMORY}'; SET LOCAL jit TO off; CREATE TEMP TABLE pg_temp.tradewire_segment
    (n int4, from_block int8, to_block int8, id text COLLATE "C", previous_id text COLLATE "C") ON COMMIT DROP`);
  const names = ["n", "from_block", "to_block", "id", "previous_id"];
  await copyCsv(client, copyFrom, "pg_temp.tradewire_segment", names, csvOf(segments));
  await client.query("ANALYZE pg_temp.tradewire_segment");
  const range = indexesWithin(segments, query.range);
  const relation = relationSql(within, query);
  const values = [tables, segments[0]?.previousId ?? ""];

  const sums = await client.query<SumRow>(
    `SELECT table_name, count(*)::text AS units, sum(rows)::text AS rows, sum(bytes)::text AS bytes,
       min(from_block)::text AS from_block, max(to_block)::text AS to_block,
       coalesce(sum(greatest(0, least(last, ${range.high}) - greatest(first, ${range.low}) + 1)) FILTER (WHERE covers), 0)::text AS covered,
       bool_or(diverged) AS diverged, bool_or(is_foreign) AS is_foreign, ${beyondSql(segments)} AS beyond
     FROM (${relation}) AS e GROUP BY table_name`,
    values,
  );
  const found = new Map(sums.rows.map((row) => [row.table_name, row]));
  const gaps = await readGaps(client, relation, query, values, found);
  const wanted = BigInt(range.high - range.low + 1);
  const summaries = tables.map((table) => tableSummary(table, found.get(table), wanted, gaps));
  const listed = (condition: string, max: number) =>
    client.query<LedgerRow>(
      `SELECT ${ENTRY} FROM (${relation}) AS e WHERE ${condition} ORDER BY e.from_block, array_position($1, e.table_name) LIMIT ${max}`,
      values,
    );
  const diverged = sums.rows.some((row) => row.diverged) ? (await listed("diverged", 1)).rows.map(entryOf) : [];
  const foreign = sums.rows.some((row) => row.is_foreign) ? (await listed("is_foreign", limit)).rows.map(entryOf) : [];
  const lacking = summaries.filter(({ missing }) => missing > 0n).map(({ table }) => table);
  const isConsistent = sums.rows.every((row) => !row.diverged && !row.is_foreign);
  const missing =
    lacking.length === 0
      ? []
      : isConsistent
        ? segmentsOfGaps(
            segments.slice(range.low, range.high + 1),
            (await client.query<GapRow>(gapsSql(within, blocksOf(segments, range), limit, query.behind), [lacking]))
              .rows,
            query,
          )
        : missingSegments(
            segments,
            (await client.query<MissingRow>(missingSql(relation, range, limit), [...values, lacking])).rows,
          );
  const [entry] = diverged;
  const divergence = entry && { divergence: divergenceAt(entry, segments) };
  return { tables: summaries, missing, gaps: oldestGaps(gaps), foreign, ...divergence };
}

/**
 * Returns the expression of how many blocks before and after the node's segments no entry covers, among the ledger's blocks. It
 * costs nothing, and is 0 for most targets, which makes a search for these blocks unnecessary.
 */
function beyondSql(segments: readonly Segment[]): string {
  const [first, last] = [segments[0], segments.at(-1)];
  if (first === undefined || last === undefined) {
    return "1::text"; // All blocks are searched.
  }
  const { fromBlock } = first;
  const before = `greatest(0, ${fromBlock} - min(from_block) FILTER (WHERE NOT is_foreign))
    - coalesce(sum(least(to_block + 1, ${fromBlock}) - from_block) FILTER (WHERE NOT is_foreign AND from_block < ${fromBlock}), 0)`;
  const { toBlock } = last;
  const after = `greatest(0, max(to_block) FILTER (WHERE NOT is_foreign) - ${toBlock})
    - coalesce(sum(to_block - greatest(from_block - 1, ${toBlock})) FILTER (WHERE NOT is_foreign AND to_block > ${toBlock}), 0)`;
  return `((${before}) + (${after}))::text`;
}

/** Reads the blocks that no entry covers and that are not in the node's segments, as `matchLedger` does. */
async function readGaps(
  client: PoolClient,
  relation: string,
  { history: { segments }, range, tables, asked }: CoverageQuery,
  values: readonly unknown[],
  found: ReadonlyMap<string, SumRow>,
): Promise<TableRange[]> {
  const [first, last] = [segments[0], segments.at(-1)];
  const searched = tables.filter((table) => {
    const [start, sums] = [asked?.get(table), found.get(table)];
    const isBegun = start === undefined || (sums !== undefined && BigInt(sums.from_block) <= start);
    return !isBegun || (sums !== undefined && sums.beyond !== "0");
  });
  if (searched.length === 0) {
    return [];
  }
  const starts = searched.map((table) => asked?.get(table)?.toString() ?? null);
  const tail = first === undefined ? "NULL" : String(first.fromBlock - 1n);
  const beyond =
    first === undefined || last === undefined ? "" : `AND (low < ${first.fromBlock} OR high > ${last.toBlock})`;
  const { rows } = await client.query<GapRow>(
    `WITH asked AS (
       SELECT * FROM unnest($3::text[], $4::int8[]) AS a (name, start)
     ), entries AS (
       SELECT e.table_name, e.from_block, e.to_block, a.start FROM (${relation}) AS e JOIN asked AS a ON a.name = e.table_name
       WHERE NOT e.is_foreign
     )
     SELECT table_name, low::text, high::text FROM (
       SELECT table_name, from_block - 1 AS high,
         greatest(coalesce(lag(to_block) OVER (PARTITION BY table_name ORDER BY from_block) + 1, start, from_block), start) AS low
       FROM entries
       UNION ALL
       SELECT a.name, ${tail}::int8,
         greatest((SELECT max(e.to_block) + 1 FROM entries AS e WHERE e.table_name = a.name), a.start)
       FROM asked AS a
     ) AS g WHERE low <= high ${beyond} ORDER BY array_position($1::text[], table_name), low`,
    [...values, searched, starts],
  );
  return rows.flatMap(({ table_name: table, low, high }) =>
    isTableName(table)
      ? blocksBeyond({ fromBlock: BigInt(low), toBlock: BigInt(high) }, segments, range).map((blocks) => ({
          table,
          ...blocks,
        }))
      : [],
  );
}

interface SumRow {
  readonly table_name: string;
  readonly units: string;
  readonly rows: string;
  readonly bytes: string;
  readonly from_block: string;
  readonly to_block: string;
  readonly covered: string;
  readonly diverged: boolean;
  readonly is_foreign: boolean;
  /** The number of blocks before and after the node's segments that may be gaps. */
  readonly beyond: string;
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

function missingSegments(segments: readonly Segment[], rows: readonly MissingRow[]): MissingSegment[] {
  return rows.flatMap(({ table_name: table, n }) => {
    const segment = segments[n];
    return segment !== undefined && isTableName(table) ? [{ table, segment }] : [];
  });
}

/** Returns the segments of gaps up to the limit, the oldest first, then in the order of the tables. */
function segmentsOfGaps(segments: readonly Segment[], rows: readonly GapRow[], { tables, limit }: CoverageQuery) {
  const gaps = tables.flatMap((table) =>
    rows
      .filter(({ table_name }) => table_name === table)
      .map(({ low, high }) => ({
        table,
        from: indexFrom(segments, BigInt(low)),
        to: indexFrom(segments, BigInt(high) + 1n),
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

/** Returns the index of the first segment that begins at a block or after it. */
function indexFrom(segments: readonly Segment[], block: bigint): number {
  return firstIndex(segments, ({ fromBlock }) => fromBlock < block);
}

function blocksOf(segments: readonly Segment[], { low, high }: SegmentIndexes): BlockRange {
  return { fromBlock: segments[low]?.fromBlock ?? 0n, toBlock: segments[high]?.toBlock ?? -1n };
}

function indexesWithin(segments: readonly Segment[], { fromBlock, toBlock }: CoverageQuery["range"]): SegmentIndexes {
  const low = segments.findIndex((segment) => fromBlock <= segment.fromBlock);
  const high = segments.findLastIndex((segment) => segment.toBlock <= toBlock);
  return low < 0 || high < low ? { low: 0, high: -1 } : { low, high };
}

function tableSummary(
  table: TableName,
  sums: SumRow | undefined,
  wanted: bigint,
  gaps: readonly TableRange[],
): TableSummary {
  const gapBlocks = gaps.reduce((sum, gap) => sum + (gap.table === table ? gap.toBlock - gap.fromBlock + 1n : 0n), 0n);
  return sums === undefined
    ? { table, units: 0, rows: 0n, bytes: 0n, missing: wanted, gapBlocks }
    : {
        table,
        units: Number(sums.units),
        rows: BigInt(sums.rows),
        bytes: BigInt(sums.bytes),
        fromBlock: BigInt(sums.from_block),
        toBlock: BigInt(sums.to_block),
        missing: wanted - BigInt(sums.covered),
        gapBlocks,
      };
}

async function* csvOf(segments: readonly Segment[]): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from("n,from_block,to_block,id,previous_id\n");
  for (let start = 0; start < segments.length; start += CHUNK_SEGMENTS) {
    const lines = segments
      .slice(start, start + CHUNK_SEGMENTS)
      .map(({ fromBlock, toBlock, id, previousId }, index) =>
        [start + index, fromBlock, toBlock, csvText(id), csvText(previousId)].join(","),
      );
    yield Buffer.from(`${lines.join("\n")}\n`);
  }
}

function csvText(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** Indexes of segments in the history, both inclusive; `high` is below `low` if there are none. */
interface SegmentIndexes {
  readonly low: number;
  readonly high: number;
}

/**
 * Selects the ledger's entries with their relation to the history: whether they diverge from it, are to be replaced, or cover
 * segments, and which ones. An entry may begin before the node's first segment, or end after its last one.
 *
 * A unit of one segment is found by its last block, and a unit of several by both ends: numbers are faster than identifiers.
 */
function relationSql(within: string, { history: { segments }, replaceFrom, behind = -1n }: CoverageQuery): string {
  const [first, last] = [segments[0]?.fromBlock ?? 0n, segments.at(-1)?.toBlock ?? -1n];
  const replaced = replaceFrom === undefined || segments.length === 0 ? "false" : `l.from_block >= ${replaceFrom}`;
  return `
    SELECT s.*, relation = 'diverged' AND NOT replaced AS diverged,
      relation IN ('after', 'overhanging', 'diverged') AND replaced AS is_foreign,
      relation = 'matching' OR (relation = 'overhanging' AND NOT replaced) AS covers
    FROM (
      SELECT l.*, coalesce(CASE WHEN b.from_block = l.from_block THEN b.n END, a.n, 0) AS first,
        coalesce(b.n, ${segments.length - 1}) AS last, ${replaced} AS replaced,
        CASE
          WHEN l.from_block > ${last} THEN 'after'
          WHEN l.to_block < ${first} THEN
            CASE WHEN l.to_block = ${first - 1n} AND l.segment_id <> $2 THEN 'diverged' ELSE 'before' END
          WHEN l.from_block >= ${first} AND l.previous_segment_id IS DISTINCT FROM
            CASE WHEN b.from_block = l.from_block THEN b.previous_id ELSE a.previous_id END THEN 'diverged'
          WHEN l.to_block > ${last} THEN 'overhanging'
          WHEN l.segment_id IS DISTINCT FROM b.id THEN 'diverged'
          ELSE 'matching'
        END AS relation
      FROM ${within}.tradewire_ledger AS l
      LEFT JOIN pg_temp.tradewire_segment AS b ON b.to_block = l.to_block
      LEFT JOIN pg_temp.tradewire_segment AS a
        ON a.from_block = CASE WHEN l.from_block IS DISTINCT FROM b.from_block THEN l.from_block END
      WHERE l.table_name = ANY ($1::text[]) AND l.from_block > ${behind}
    ) AS s`;
}

/** Selects the oldest segments that no entry covers: the oldest gaps between the entries, and the segments in them. */
function missingSql(relation: string, { low, high }: SegmentIndexes, limit: number): string {
  return `
    WITH marks AS (
      SELECT table_name, first, last FROM (${relation}) AS e
      WHERE covers AND table_name = ANY ($3::text[]) AND last >= ${low} AND first <= ${high}
      UNION ALL SELECT name, ${high + 1}, ${high + 1} FROM unnest($3::text[]) AS name
    ), gaps AS (
      SELECT table_name, coalesce(lag(last) OVER by_place + 1, ${low}) AS low, first - 1 AS high
      FROM marks WINDOW by_place AS (PARTITION BY table_name ORDER BY first)
    ), oldest AS (
      SELECT *, array_position($1::text[], table_name) AS place FROM gaps WHERE low <= high
      ORDER BY low, place LIMIT ${limit}
    )
    SELECT table_name, n FROM oldest, generate_series(low, least(high, low + ${limit - 1})) AS n
    ORDER BY n, place LIMIT ${limit}`;
}

/**
 * Selects the oldest gaps between the entries of each table, if all entries belong to the history. It reads only the index, in
 * order, up to the last selected gap.
 */
function gapsSql(within: string, { fromBlock, toBlock }: BlockRange, limit: number, behind = -1n): string {
  const wanted = `l.table_name = t.name AND l.from_block > ${behind} AND l.to_block >= ${fromBlock} AND l.from_block <= ${toBlock}`;
  return `
    SELECT t.name AS table_name, g.low::text, g.high::text FROM unnest($1::text[]) AS t (name), LATERAL (
      (SELECT before + 1 AS low, from_block - 1 AS high FROM (
         SELECT l.from_block, lag(l.to_block, 1, ${fromBlock - 1n}) OVER (ORDER BY l.from_block) AS before
         FROM ${within}.tradewire_ledger AS l WHERE ${wanted}
       ) AS entries WHERE from_block > before + 1 ORDER BY from_block LIMIT ${limit})
      UNION ALL
      SELECT coalesce((SELECT l.to_block FROM ${within}.tradewire_ledger AS l WHERE ${wanted}
        ORDER BY l.from_block DESC LIMIT 1), ${fromBlock - 1n}) + 1, ${toBlock}
    ) AS g WHERE g.low <= g.high`;
}

/** The maximum number of parts of a range. */
const MAX_PARTS = 10_000;
/** The maximum of the database's `int8`. */
const MAX_INT8 = 2n ** 63n - 1n;

/**
 * Counts the blocks of each part of a range that units cover.
 *
 * @throws {@link RequestError} if there are too many parts, or too many blocks for this number of parts
 */
export async function countCoveredBlocks(
  client: PoolClient,
  within: string,
  tables: readonly TableName[],
  { fromBlock, toBlock }: BlockRange,
  parts: number,
): Promise<TableCoverage[]> {
  const length = toBlock - fromBlock + 1n;
  if (!Number.isInteger(parts) || parts < 1 || parts > MAX_PARTS || length < 1n || length * BigInt(parts) > MAX_INT8) {
    throw new RequestError(`blocks ${fromBlock} to ${toBlock} cannot be counted in ${parts} parts`, {
      advice: `Use a range of existing blocks, and 1 to ${MAX_PARTS} parts.`,
    });
  }
  // The last part that does not begin after the block.
  const partOf = (place: string) => `((${place} + 1) * ${parts} - 1) / ${length}`;
  const begin = (part: string) => `(${part} * ${length} / ${parts})`;
  const { rows } = await client.query<{ table_name: string; part: string; blocks: string }>(
    `WITH placed AS (
       SELECT table_name, greatest(from_block, ${fromBlock}) - ${fromBlock} AS first,
         least(to_block, ${toBlock}) - ${fromBlock} AS last
       FROM ${within}.tradewire_ledger
       WHERE table_name = ANY ($1::text[]) AND to_block >= ${fromBlock} AND from_block <= ${toBlock}
     ), indexed AS (
       SELECT table_name, first, last, ${partOf("first")} AS low, ${partOf("last")} AS high FROM placed
     ), counted AS (
       SELECT table_name, low AS part, sum(last - first + 1) AS blocks FROM indexed WHERE low = high GROUP BY 1, 2
       UNION ALL
       SELECT table_name, part, sum(least(last + 1, ${begin("(part + 1)")}) - greatest(first, ${begin("part")}))
       FROM indexed, generate_series(low, high) AS part WHERE low < high GROUP BY 1, 2
     )
     SELECT table_name, part::text, sum(blocks)::text AS blocks FROM counted GROUP BY 1, 2`,
    [tables],
  );
  const counted = new Map(tables.map((table) => [String(table), new Array<number>(parts).fill(0)]));
  for (const { table_name, part, blocks } of rows) {
    const counts = counted.get(table_name);
    if (counts !== undefined) {
      counts[Number(part)] = Number(blocks);
    }
  }
  return tables.map((table) => ({ table, blocks: counted.get(table) ?? [] }));
}
