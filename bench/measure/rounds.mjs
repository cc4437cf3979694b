// Interleaved rounds: in each, every row runs once, so that other load affects all of them alike.
import { runOnce } from "./run.mjs";

/** Measure rows. */
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

/** Give the median. */
export function median(numbers) {
  const sorted = numbers.filter((number) => number !== undefined).toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? sorted[middle]
    : sorted.length > 0
      ? (sorted[middle - 1] + sorted[middle]) / 2
      : undefined;
}

/** Ask about measured runs. */
export function figuresOf(runs) {
  const values = (name, key) => runs.get(name)?.map((run) => run[key]) ?? [];
  const ratios = (name, other, key = "rate") => {
    const others = values(other, key);
    return others.length === 0 ? [] : values(name, key).map((value, round) => value / others[round]);
  };
  return {
    of: (name, key = "rate") => median(values(name, key)),
    ratio: (...which) => median(ratios(...which)),
    /** How far the rounds' ratios are apart, as a part of their median. */
    spread(...which) {
      const all = ratios(...which);
      return all.length === 0 ? undefined : (Math.max(...all) - Math.min(...all)) / median(all);
    },
  };
}
