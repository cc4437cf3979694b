import type { BlockRange } from "../../../history/segments.js";
import type { SurveyQuestion } from "../../sink.js";

/** Places of segments in the history, both ends inclusive; `high` is below `low` where there are none. */
export interface Places {
  readonly low: number;
  readonly high: number;
}

/**
 * Select the ledger's entries with how they stand to the history: whether they part from it, are to be replaced, or
 * cover segments of it, and which. An entry may begin before the node's first segment, or end behind its last one.
 *
 * A unit of one segment is found by its last block, one of several by both ends: numbers are quicker than identifiers.
 *
 * @param within the schema
 * @param question what is asked
 * @returns the query, which takes the tables as `$1` and the identifier before the first segment as `$2`
 */
export function judgedSql(
  within: string,
  { history: { segments }, replaceFrom, behind = -1n }: SurveyQuestion,
): string {
  const [first, last] = [segments[0]?.fromBlock ?? 0n, segments.at(-1)?.toBlock ?? -1n];
  const replaced = replaceFrom === undefined || segments.length === 0 ? "false" : `l.from_block >= ${replaceFrom}`;
  return `
    SELECT s.*, standing = 'parted' AND NOT replaced AS parted,
      standing IN ('behind', 'beyond', 'parted') AND replaced AS is_foreign,
      standing = 'of' OR (standing = 'beyond' AND NOT replaced) AS covers
    FROM (
      SELECT l.*, coalesce(CASE WHEN b.from_block = l.from_block THEN b.n END, a.n, 0) AS first,
        coalesce(b.n, ${segments.length - 1}) AS last, ${replaced} AS replaced,
        CASE
          WHEN l.from_block > ${last} THEN 'behind'
          WHEN l.to_block < ${first} THEN
            CASE WHEN l.to_block = ${first - 1n} AND l.segment_id <> $2 THEN 'parted' ELSE 'before' END
          WHEN l.from_block >= ${first} AND l.previous_segment_id IS DISTINCT FROM
            CASE WHEN b.from_block = l.from_block THEN b.previous_id ELSE a.previous_id END THEN 'parted'
          WHEN l.to_block > ${last} THEN 'beyond'
          WHEN l.segment_id IS DISTINCT FROM b.id THEN 'parted'
          ELSE 'of'
        END AS standing
      FROM ${within}.tradewire_ledger AS l
      LEFT JOIN pg_temp.tradewire_segment AS b ON b.to_block = l.to_block
      LEFT JOIN pg_temp.tradewire_segment AS a
        ON a.from_block = CASE WHEN l.from_block IS DISTINCT FROM b.from_block THEN l.from_block END
      WHERE l.table_name = ANY ($1::text[]) AND l.from_block > ${behind}
    ) AS s`;
}

/**
 * Select the oldest places that no entry covers: the gaps between the entries, the oldest of those, and their places.
 *
 * @param judged of {@link judgedSql}
 * @param places those that are asked for
 * @param limit how many
 * @returns the query, which takes the tables that lack any as `$3`
 */
export function missingSql(judged: string, { low, high }: Places, limit: number): string {
  return `
    WITH marks AS (
      SELECT table_name, first, last FROM (${judged}) AS e
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
 * Select the oldest gaps between the entries of each table, where all of these are of the history: by an index alone,
 * in its order, and no further than to the last gap that is wanted.
 *
 * @param within the schema
 * @param range the blocks
 * @param limit how many gaps of each table
 * @param behind all segments up to this block are there
 * @returns the query, which takes the tables as `$1`
 */
export function gapsSql(within: string, { fromBlock, toBlock }: BlockRange, limit: number, behind = -1n): string {
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
