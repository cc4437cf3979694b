// Interleaved rounds: in each, every row runs once, so that other load affects all of them alike.
import { runOnce } from "./run.mjs";

/**
 * Measure rows.
 *
 * @param rows what runs, see `runOnce`; its rate is reckoned from `amount`, to which a run must have come, or else to `expected`
 * @param {{ rounds: number, serverCpu: () => Promise<number>, told: (text: string) => void }} options how often; the
 *   server's CPU so far, in seconds; what is told meanwhile
 * @returns the runs of each row, by its name: `rate` and `cpuEach` for each of its amount, and the share of a core that
 *   the server took meanwhile; and why rows were left out
 */
export async function measure(rows, { rounds, serverCpu, told }) {
  const runs = new Map(rows.map(({ name }) => [name, []]));
  const absent = new Map();
  for (let round = 1; round <= rounds; round += 1) {
    for (const row of rows.filter(({ name }) => !absent.has(name))) {
      told(`round ${round} of ${rounds}: ${row.name}`);
      const before = await serverCpu();
      const result = await runOnce(row);
      const server = (await serverCpu()) - before;
      if (result.absent !== undefined) {
        absent.set(row.name, result.absent);
        runs.delete(row.name);
      } else {
        checkAmount(row, result);
        const { seconds, cpu } = result;
        runs
          .get(row.name)
          .push({ ...result, rate: row.amount / seconds, cpuEach: cpu / row.amount, share: server / seconds });
      }
    }
  }
  return { runs, absent };
}

/** A run has to come to what was asked for. One that decodes nothing counts frames, too: not less than that. */
function checkAmount({ name, amount, expected = amount, decodes = true }, { amount: done }) {
  if (done !== undefined && (decodes ? done !== expected : done < expected)) {
    throw new Error(`${name}: ${done} instead of ${expected}`);
  }
}

/**
 * Give the median.
 *
 * @param {number[]} numbers some numbers
 * @returns the middle one, or the mean of both; undefined where there are none
 */
export function median(numbers) {
  const sorted = numbers.filter((number) => number !== undefined).toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? sorted[middle]
    : sorted.length > 0
      ? (sorted[middle - 1] + sorted[middle]) / 2
      : undefined;
}

/**
 * Ask about measured runs.
 *
 * @param {Map<string, object[]>} runs the runs of each row
 * @returns `of(name, key)`, the median of a figure; `ratio(name, other, key)`, the median of what the rounds' two runs
 *   make, which other load disturbs less. Both are undefined where a row was left out.
 */
export function figuresOf(runs) {
  const values = (name, key) => runs.get(name)?.map((run) => run[key]) ?? [];
  return {
    of: (name, key = "rate") => median(values(name, key)),
    ratio(name, other, key = "rate") {
      const others = values(other, key);
      return others.length === 0 ? undefined : median(values(name, key).map((value, round) => value / others[round]));
    },
  };
}
