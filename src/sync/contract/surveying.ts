import { deepStrictEqual } from "node:assert/strict";
import type { SurveyQuestion } from "../sink.js";
import { mergedSurvey } from "../survey.js";
import type { Segment } from "../unit.js";
import { arriving, madeUp, unitAt } from "./given.js";
import { CHAIN, entriesOf, plainly, type SinkCase, sinkCase, withOpened } from "./host.js";

const TABLES = ["trades", "blocks"] as const;

/** What a sink that compares and draws by itself has to come to. Others have nothing to do here. */
export const surveyingCases: readonly SinkCase[] = [
  sinkCase("compares its ledger with a history as reading it does", async (host) => {
    await withOpened(host, TABLES, async ({ sink }) => {
      if (sink.survey === undefined) {
        return;
      }
      const units = [unitAt("trades", 2), unitAt("trades", 3, { last: 4 }), unitAt("trades", 6, { fork: "b" })];
      for (const unit of [...units, unitAt("blocks", 1), unitAt("blocks", 4), unitAt("blocks", 8)]) {
        const csv = madeUp(unit.table, { from: Number(unit.fromBlock) * 100, rows: 2 });
        await sink.load(unit, arriving(csv).fetch, plainly());
      }
      for (const question of questions()) {
        const own = await sink.survey(question);
        const merged = await mergedSurvey(sink, question);
        deepStrictEqual(own, merged, `from ${question.history.segments[0]?.fromBlock}`);
      }
    });
  }),

  sinkCase("tells how much of a range it has", async (host) => {
    await withOpened(host, TABLES, async ({ sink }) => {
      if (sink.coverage === undefined) {
        return;
      }
      for (const unit of [unitAt("trades", 2), unitAt("trades", 3, { last: 6 })]) {
        await sink.load(unit, arriving(madeUp("trades", { from: Number(unit.fromBlock), rows: 1 })).fetch, plainly());
      }
      for (const [fromBlock, toBlock, parts] of [
        [1n, 80n, 8],
        [1n, 80n, 7],
        [15n, 33n, 4],
        [1n, 3n, 5],
      ] as const) {
        const entries = await entriesOf(sink, "trades");
        const edge = (part: number) => fromBlock + (BigInt(part) * (toBlock - fromBlock + 1n)) / BigInt(parts);
        const expected = Array.from({ length: parts }, (_, part) => {
          const [low, high] = [edge(part), edge(part + 1) - 1n];
          return entries.reduce((sum, entry) => {
            const from = entry.fromBlock > low ? entry.fromBlock : low;
            const to = entry.toBlock < high ? entry.toBlock : high;
            return sum + (to >= from ? Number(to - from) + 1 : 0);
          }, 0);
        });
        deepStrictEqual(await sink.coverage(TABLES, { fromBlock, toBlock }, parts), [
          { table: "trades", blocks: expected },
          { table: "blocks", blocks: expected.map(() => 0) },
        ]);
      }
    });
  }),
];

/** Histories of all lengths, of which some part from the ledger, with ranges, limits and replacing. */
function* questions(): Generator<SurveyQuestion> {
  for (const first of [1, 2, 3, 4, 7, 9]) {
    for (const last of [0, 1, 3, 4, 5, 6, 8, 12]) {
      for (const forkFrom of [100, 1, 4, 6]) {
        const segments = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) =>
          segmentAt(first + index, forkFrom),
        );
        const [range, limit] = [first % 2 === 0 ? [1n, 1000n] : [11n, 55n], last % 2 === 0 ? 100 : 2] as const;
        const common = { history: { chainId: CHAIN, segments }, tables: TABLES, limit };
        const question = { ...common, range: { fromBlock: range[0] ?? 0n, toBlock: range[1] ?? 0n } };
        yield question;
        yield { ...question, replaceFrom: 31n };
        yield { ...question, replaceFrom: 0n };
        yield { ...question, behind: BigInt(first - 1) * 10n };
      }
    }
  }
}

function segmentAt(number: number, forkFrom: number): Segment {
  const fork = (at: number) => (at >= forkFrom ? "b" : "");
  return {
    fromBlock: BigInt(number - 1) * 10n + 1n,
    toBlock: BigInt(number) * 10n,
    id: `segment-${number}${fork(number)}`,
    previousId: number === 1 ? "" : `segment-${number - 1}${fork(number - 1)}`,
    schemaVersion: 116n,
  };
}
